#include "doctor/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/log.h"

namespace lockstep::doctor {

namespace {

std::string json_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(json_text(text));
  return fmt::format("[{}]", fmt::join(quoted, ","));
}

std::string json_of(const RankFacts& rank) {
  std::string text = fmt::format(R"({{"rank":{},"node":{},"problem":{})", rank.rank, json_text(rank.node),
                                 rank.problem.empty() ? "null" : json_text(rank.problem));
  for (const auto& [key, value] : rank.facts) {
    const auto number = number_of(rank.facts, key);
    text += fmt::format(",{}:{}", json_text(key), number ? json_number(*number) : json_text(value));
  }
  return text + "}";
}

std::string json_of(const Section& section) {
  std::vector<std::string> rows, ranks;
  for (const Row& row : section.rows)
    rows.push_back(fmt::format("{}:{}", json_text(row.name), json_text(row.text)));
  for (const RankFacts& rank : section.ranks) ranks.push_back(json_of(rank));
  return fmt::format(R"({{"name":{},"rows":{{{}}},"warnings":{},"failures":{},"ranks":[{}]}})",
                     json_text(section.name), fmt::join(rows, ","), json_list(section.warnings),
                     json_list(section.failures), fmt::join(ranks, ",\n  "));
}

}  // namespace

ExitCode more_serious(ExitCode a, ExitCode b) {
  constexpr std::array order = {ExitCode::peer_failed, ExitCode::cannot_create};
  for (const ExitCode code : order) {
    if (a == code || b == code) return code;
  }
  return a == ExitCode::finished ? b : a;
}

ExitCode Report::code() const {
  ExitCode code = ExitCode::finished;
  for (const Section& section : sections) code = more_serious(code, section.code);
  return code;
}

void tell_problems(Section& section) {
  std::vector<const RankFacts*> first;
  std::map<std::string, int> count;
  for (const RankFacts& rank : section.ranks) {
    if (!rank.problem.empty() && count[rank.problem]++ == 0) first.push_back(&rank);
  }
  for (const RankFacts* rank : first) {
    const int others = count[rank->problem] - 1;
    section.fail(rank->code,
                 others == 0 ? with_rank(rank->rank, rank->node, rank->problem)
                             : fmt::format("{} (and {} more): {}", name_of(*rank), others, rank->problem));
  }
}

std::string to_words(const Report& report) {
  std::string text;
  std::size_t warnings = 0, failures = 0;
  for (const Section& section : report.sections) {
    text += section.name + "\n";
    for (const Row& row : section.rows) text += fmt::format("  {:<20} {}\n", row.name, row.text);
    for (const std::string& failure : section.failures) text += fmt::format("  failed: {}\n", failure);
    for (const std::string& warning : section.warnings) text += fmt::format("  warning: {}\n", warning);
    warnings += section.warnings.size();
    failures += section.failures.size();
  }
  if (!report.advice.empty()) text += "advice\n";
  for (const std::string& line : report.advice) text += fmt::format("  {}\n", line);
  const auto counted = [](std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return text + (failures == 0 && warnings == 0
                     ? std::string("all is well\n")
                     : fmt::format("{}, {}\n", counted(failures, "failure"), counted(warnings, "warning")));
}

std::string to_json(const Report& report) {
  std::vector<std::string> sections;
  for (const Section& section : report.sections) sections.push_back(json_of(section));
  return fmt::format("{{\"exit_code\":{},\"sections\":[{}],\"advice\":{}}}\n",
                     static_cast<int>(report.code()), fmt::join(sections, ",\n "), json_list(report.advice));
}

}  // namespace lockstep::doctor
