// NCCL's files: those that should not be in use, and lines that NCCL reads otherwise than they were meant.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "core/text.h"
#include "plan/concern.h"
#include "plan/contradictions.h"
#include "site/in_quotes.h"
#include "site/variables.h"

namespace lockstep::spank {

namespace {

constexpr int most_lines = 4;  // told of, for each file
constexpr std::size_t longest_path = 200;

void look_at_graph_file(Settings& settings) {
  const Decision* graph = settings.find("NCCL_GRAPH_FILE");
  if (graph == nullptr || graph->value->empty()) return;
  settings.warn(fmt::format("NCCL_GRAPH_FILE={} ({}) forces NCCL's channels: it is a debugging aid, not for "
                            "production, and stops the job where it does not fit",
                            in_quotes(*graph->value), graph->origin),
                undo(*graph));
}

void look_at_conf_file(const Facts& facts, Settings& settings) {
  const Decision* chosen = settings.find("NCCL_CONF_FILE");
  // In a file NCCL reads it too late to follow it.
  if (chosen == nullptr || chosen->in_files || chosen->value->empty()) return;
  if (facts.user_file == nullptr) {
    settings.advise(
        fmt::format("NCCL_CONF_FILE ({}) names {}, which cannot be read: NCCL goes on without a word",
                    chosen->origin, in_quotes(*chosen->value)),
        "correct the path, or " + undo(*chosen));
  }
  if (facts.home.empty() || *chosen->value == facts.home + "/.nccl.conf") return;
  const auto passed_over = read_nccl_conf(facts.home + "/.nccl.conf");
  if (passed_over && !passed_over->entries.empty()) {
    settings.advise("~/.nccl.conf is not read, because NCCL_CONF_FILE names another file",
                    fmt::format("move its lines to {}, or {}", in_quotes(*chosen->value), undo(*chosen)));
  }
}

void look_at_obstacle(const NcclConf* file, const std::string& remedy, Settings& settings) {
  if (file == nullptr) return;
  const std::string name = in_quotes(file->file, longest_path);
  switch (file->obstacle) {
    case Obstacle::none:
      return;
    case Obstacle::unreadable:
      settings.advise(fmt::format("{} {}: NCCL goes on without it and without a word", name, file->problem),
                      remedy);
      return;
    case Obstacle::stream:
      settings.warn(
          fmt::format("{} {}: NCCL would read from it, and may wait without end", name, file->problem),
          remedy);
      return;
    case Obstacle::too_large:
      settings.advise(
          fmt::format("{} is larger than 1 MiB: not looked at by the plugin; NCCL reads it", name), remedy);
      return;
  }
}

void look_at_obstacles(const Facts& facts, Settings& settings) {
  const Decision* named = settings.find("NCCL_CONF_FILE");
  const bool by_name = named != nullptr && !named->in_files && !named->value->empty();
  look_at_obstacle(facts.user_file,
                   by_name ? "correct the path, or " + undo(*named)
                           : "make it a plain file that you can read, with settings alone, or remove it",
                   settings);
  look_at_obstacle(facts.site_file,
                   "have the administrator make it a plain file that all can read, with settings alone",
                   settings);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_typed(std::string_view variable) {
  const auto typed = typed_variables();
  return std::binary_search(typed.begin(), typed.end(), variable);
}

// What NCCL makes of one line and its writer can hardly have meant; `first` is the line that has set the
// variable before, 0: none.
struct Oddity {
  std::string text;
  std::string remedy;
};

std::optional<Oddity> oddity_of(const NcclConf::Entry& entry, int first) {
  if (!is_name(entry.variable)) {
    if (trim(entry.variable).starts_with('#')) return std::nullopt;  // no comment for NCCL, but no harm
    return Oddity{fmt::format("sets a variable {}, which nobody reads", in_quotes(entry.variable)),
                  "write NAME=VALUE alone, without blanks"};
  }
  if (first != 0) {
    return Oddity{fmt::format("sets {} again, without effect: line {} counts", entry.variable, first),
                  "remove one of the two"};
  }
  // Typed values are looked at where they are in effect.
  if (is_typed(entry.variable) || entry.value.empty()) return std::nullopt;
  const bool padded = trim(entry.value).size() != entry.value.size();
  if (padded || entry.value.front() == '"' || entry.value.front() == '\'') {
    return Oddity{fmt::format("sets {} to {}, {} included", in_quotes(entry.variable), in_quotes(entry.value),
                              padded ? "blanks" : "quotes"),
                  "write the value alone"};
  }
  return std::nullopt;
}

void look_at_lines(const NcclConf* file, Settings& settings) {
  if (file == nullptr) return;
  int odd = 0;
  std::map<std::string_view, int> lines;
  for (const NcclConf::Entry& entry : file->entries) {
    const auto [known, fresh] = lines.try_emplace(entry.variable, entry.line);
    const auto oddity = oddity_of(entry, fresh ? 0 : known->second);
    if (!oddity || ++odd > most_lines) continue;
    settings.advise(fmt::format("{}:{} {}", file->file, entry.line, oddity->text), oddity->remedy);
  }
  if (odd > most_lines) {
    settings.advise(fmt::format("{} has {} more lines that NCCL misreads", file->file, odd - most_lines),
                    "nccl-setup check " + file->file);
  }
  if (file->carriage_return_line != 0) {
    settings.advise(fmt::format("{}:{} ends in a carriage return, which older NCCL takes into the value",
                                file->file, file->carriage_return_line),
                    "save the file with Unix line ends");
  }
}

}  // namespace

void look_at_files(const Facts& facts, Settings& settings) {
  look_at_graph_file(settings);
  look_at_conf_file(facts, settings);
  look_at_obstacles(facts, settings);
  look_at_lines(facts.user_file, settings);
  look_at_lines(facts.site_file, settings);
  look_at_contradictions(facts, settings);
}

}  // namespace lockstep::spank
