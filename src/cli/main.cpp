#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/version.h"
#include "core/error.h"
#include "core/text.h"

namespace {

using lockstep::cli::Command;

void print_help() {
  fmt::print(
      "Lockstep trains neural networks data-parallel under Slurm, and survives preemption.\n\n"
      "usage: lockstep COMMAND [ARGUMENTS]\n\n");
  for (const Command& command : lockstep::cli::commands()) {
    fmt::print("  {:<12} {}\n", command.name, command.summary);
  }
  fmt::print(
      "\nlockstep COMMAND --help tells more; lockstep --version, what it was built with.\n"
      "Exit codes: 0 finished, 64 usage, 65 bad data, 66 missing input, 70 internal error, 73 cannot create\n"
      "output, 75 saved and to be requeued, 76 a peer failed, 78 bad configuration.\n");
}

int dispatch(const std::vector<std::string>& args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    print_help();
    return args.empty() ? static_cast<int>(lockstep::ExitCode::usage) : 0;
  }
  if (args[0] == "--version") {
    fmt::print("{}", lockstep::cli::version_text());
    return 0;
  }
  const auto known = lockstep::cli::commands();
  const auto at =
      std::find_if(known.begin(), known.end(), [&](const Command& c) { return c.name == args[0]; });
  if (at == known.end()) {
    std::vector<std::string> names;
    for (const Command& command : known) names.emplace_back(command.name);
    const auto near = lockstep::nearest(args[0], names);
    throw lockstep::Error(lockstep::ExitCode::usage,
                          fmt::format("unknown command {}{}", args[0],
                                      near ? fmt::format("; did you mean {}?", *near)
                                           : std::string("; lockstep --help lists the commands")));
  }
  return at->run(std::span(args).subspan(1));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "lockstep: error: cannot write the output\n");
      return static_cast<int>(lockstep::ExitCode::cannot_create);
    }
    return code;
  } catch (const lockstep::Error& error) {
    fmt::print(stderr, "lockstep: error: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "lockstep: internal error: {}\n", error.what());
    return static_cast<int>(lockstep::ExitCode::internal);
  }
}
