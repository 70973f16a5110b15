#include "command/checked_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command/site_file.h"
#include "command/site_mistakes.h"
#include "core/text.h"
#include "site/bounded_file.h"
#include "site/profile_keys.h"
#include "topology/nccl_xml.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest = 4 << 20;  // as the largest that the plugin reads

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

bool looks_like_topology(std::string_view text, const std::filesystem::path& file) {
  return trim(text).starts_with('<') || file.extension() == ".xml";
}

// Neither a section nor a key in lower case means anything to NCCL, so that one such line is enough, whatever
// else is wrong. A file of comments alone is told by its name.
bool looks_like_site_file(std::string_view text, const std::filesystem::path& file) {
  bool empty = true;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with('#')) continue;
    if (words.starts_with('[') || words.starts_with(';')) return true;
    if (find_profile_key(trim(words.substr(0, words.find('=')))) != nullptr) return true;
    empty = false;
  }
  const std::string name = file.filename().string();
  return empty ? !name.ends_with("nccl.conf") : name == "nccl-setup.conf";
}

FileKind kind_of(std::string_view text, const std::filesystem::path& file) {
  if (text.starts_with(utf8_mark)) text.remove_prefix(utf8_mark.size());
  if (looks_like_topology(text, file)) return FileKind::topology;
  return looks_like_site_file(text, file) ? FileKind::site : FileKind::nccl_conf;
}

std::string contents_of(const Profile& profile) {
  std::string text = fmt::format("line {}: profile {}", profile.line, profile.name);
  for (const Constant& constant : profile.constants) {
    text += fmt::format(" {}={}", constant.variable, constant.value);
  }
  return text;
}

Report check_site_file(std::string_view text, const std::string& file, bool draft) {
  Report report{.kind = "site's file", .faults = mistakes_in_site_config(text, file)};
  if (report.faults.empty()) {
    const SiteConfig config = parse_site_config(text, file);
    report.kind = fmt::format("site's file, {}", count_of(config.profiles.size(), "profile"));
    for (const Profile& profile : config.profiles) report.contents.push_back(contents_of(profile));
  }
  if (draft) return report;
  for (const Refusal& refusal : refusals_of(file, file)) {
    report.faults.push_back(fmt::format("{}; {}", refusal.reason, refusal.remedy));
  }
  return report;
}

}  // namespace

Report check_topology(std::string_view text, const Node& node) {
  Report report{.kind = "topology file"};
  const TopologyFile file = parse_topology(text);
  if (file.verdict == TopologyFile::Verdict::fatal) {
    report.faults.push_back(fmt::format("NCCL refuses it, and ends the program: {}", file.reason));
  } else if (file.verdict == TopologyFile::Verdict::ignored) {
    report.faults.push_back(fmt::format("NCCL passes over it without a word: {}", file.reason));
  } else if (node.machine.gpus().empty()) {
    report.remarks.push_back(fmt::format(
        "not compared with a node: {} has no GPU; run this on a compute node, or give --root", node.name));
  } else {
    for (const std::string& misfit : misfits(*file.system, node.machine)) {
      report.faults.push_back(fmt::format("does not fit {}: {}", node.name, misfit));
    }
  }
  return report;
}

std::optional<FileKind> parse_file_kind(std::string_view word) {
  if (word == "site") return FileKind::site;
  if (word == "nccl-conf") return FileKind::nccl_conf;
  if (word == "topology") return FileKind::topology;
  return std::nullopt;
}

Report check_file(const std::string& file, const Node& node, const CheckOptions& options) {
  const BoundedFile read = read_bounded(file, longest);
  if (read.missing) return {.kind = "missing", .faults = {"there is no such file"}, .missing = true};
  if (!read.problem.empty()) return {.kind = "not readable", .faults = {read.problem}};
  switch (options.kind.value_or(kind_of(read.text, file))) {
    case FileKind::topology:
      return check_topology(read.text, node);
    case FileKind::site:
      return check_site_file(read.text, file, options.draft);
    case FileKind::nccl_conf:
      break;
  }
  return check_nccl_conf(read.text, file);
}

}  // namespace lockstep::spank
