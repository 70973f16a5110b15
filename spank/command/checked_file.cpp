#include "command/checked_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command/site_file.h"
#include "core/text.h"
#include "site/bounded_file.h"
#include "topology/nccl_xml.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t longest = 4 << 20;  // as the largest that the plugin reads

bool looks_like_topology(std::string_view text, const std::filesystem::path& file) {
  return trim(text).starts_with('<') || file.extension() == ".xml";
}

// A file of comments alone is told by its name.
bool looks_like_site_file(std::string_view text, const std::filesystem::path& file) {
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.empty() || words.starts_with('#')) continue;
    return words.starts_with('[') || words.starts_with(';');
  }
  return !file.filename().string().ends_with("nccl.conf");
}

std::string contents_of(const Profile& profile) {
  std::string text = fmt::format("line {}: profile {}", profile.line, profile.name);
  for (const Constant& constant : profile.constants) {
    text += fmt::format(" {}={}", constant.variable, constant.value);
  }
  return text;
}

Report check_site_file(const std::string& file) {
  Report report{.kind = "site's file"};
  try {
    const SiteFile site = read_site_file(file, file);
    report.kind = fmt::format("site's file, {}", count_of(site.config.profiles.size(), "profile"));
    for (const Profile& profile : site.config.profiles) report.contents.push_back(contents_of(profile));
    if (!site.refusal.empty()) report.remarks.push_back(fmt::format("{}; {}", site.refusal, site.remedy));
  } catch (const SiteConfigError& error) {
    report.faults.emplace_back(error.what());
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

Report check_file(const std::string& file, const Node& node) {
  const BoundedFile read = read_bounded(file, longest);
  if (read.missing) return {.kind = "missing", .faults = {"there is no such file"}, .missing = true};
  if (!read.problem.empty()) return {.kind = "not readable", .faults = {read.problem}};
  if (looks_like_topology(read.text, file)) return check_topology(read.text, node);
  if (looks_like_site_file(read.text, file)) return check_site_file(file);
  return check_nccl_conf(read.text, file);
}

}  // namespace lockstep::spank
