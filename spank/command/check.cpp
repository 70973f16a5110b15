// nccl-setup check: whether files that the plugin or NCCL reads are what they should be.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "command/checked_file.h"
#include "command/command.h"
#include "command/example_step.h"
#include "core/error.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace {

constexpr std::array options = {
    Option{"--root", "DIR|FILE.tar", "compare topology files with a captured node instead of this one"},
    Option{"--as", "KIND", "what the files are: site, nccl-conf or topology; default: what they look like"},
    Option{"--draft", "", "a site's file that is not in its place yet: owner and permissions do not count"},
};

int run(const Arguments& arguments) {
  arguments.refuse_command();
  if (arguments.plain().empty()) throw Error(ExitCode::usage, "which file? usage: nccl-setup check FILE...");
  const Node node = look_at_node(NodeRoot(arguments.value("--root")), std::nullopt, own_environment());
  CheckOptions how{.kind = {}, .draft = arguments.has("--draft")};
  if (const auto kind = arguments.value("--as")) {
    how.kind = parse_file_kind(*kind);
    if (!how.kind) {
      throw Error(ExitCode::usage, fmt::format("--as {}: write site, nccl-conf or topology", *kind));
    }
  }
  bool good = true;
  bool missing = false;
  for (const std::string& file : arguments.plain()) {
    const Report report = check_file(file, node, how);
    fmt::print("{}: {}{}\n", file, report.kind, report.faults.empty() ? ", no fault found" : "");
    // One line each of what a file may hold.
    for (const std::string& line : report.contents) fmt::print("  {}\n", clean_text(line));
    for (const std::string& fault : report.faults) fmt::print("  {}\n", clean_text(fault));
    for (const std::string& remark : report.remarks) fmt::print("  warning: {}\n", clean_text(remark));
    good = good && report.faults.empty();
    missing = missing || report.missing;
  }
  if (missing) return static_cast<int>(ExitCode::missing_input);
  return good ? 0 : static_cast<int>(ExitCode::bad_data);
}

}  // namespace

Command check_command() {
  return {
      "check",
      "[--root DIR|FILE.tar] [--as KIND] [--draft] FILE...",
      "look for mistakes in the site's file, in nccl.conf and in topology files",
      "Tells a site's file, a topology file and an nccl.conf apart by what they hold. A site's file must\n"
      "be root's, writable by nobody else, and readable by all, or the plugin does not take it. Exit\n"
      "code 0: no fault; 65: at least one; 66: a file is missing.\n",
      options,
      run};
}

}  // namespace lockstep::spank
