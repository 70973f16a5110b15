// nccl-setup: what the plugin would set on a node, why, and whether the files that it reads are right.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "command/command.h"
#include "core/error.h"
#include "core/text.h"
#include "step/clean_text.h"

namespace {

using lockstep::Error;
using lockstep::ExitCode;
using lockstep::spank::clean_text;
using lockstep::spank::Command;

void print_help() {
  fmt::print(
      "Shows and checks what Lockstep's SPANK plugin sets up for NCCL under Slurm.\n\n"
      "usage: nccl-setup COMMAND [ARGUMENTS]\n\n");
  for (const Command& command : lockstep::spank::commands()) {
    fmt::print("  {:<12} {}\n", command.name, command.summary);
  }
  fmt::print(
      "\nnccl-setup COMMAND --help tells more; nccl-setup --version, the version of what is decided.\n"
      "Exit codes: 0 no problem found, 1 problems found (explain), 64 usage, 65 a file is wrong (check),\n"
      "66 a file or folder is missing, 70 internal error, 73 cannot create output, 78 the site's file is\n"
      "wrong (explain).\n");
}

void print_help(const Command& command) {
  fmt::print("usage: nccl-setup {} {}\n\n{}\n", command.name, command.synopsis, command.details);
  fmt::print("{}", lockstep::spank::describe(command.options));
}

Command find_command(const std::string& name) {
  const std::vector<Command> known = lockstep::spank::commands();
  const auto at = std::find_if(known.begin(), known.end(), [&](const Command& c) { return c.name == name; });
  if (at != known.end()) return *at;
  std::vector<std::string> names;
  for (const Command& command : known) names.emplace_back(command.name);
  const auto near = lockstep::nearest(name, names);
  throw Error(ExitCode::usage, fmt::format("unknown command {}{}", name,
                                           near ? fmt::format("; did you mean {}?", *near)
                                                : std::string("; nccl-setup --help lists the commands")));
}

int run(const Command& command, std::span<const std::string> words) {
  const auto own_end = std::find(words.begin(), words.end(), "--");
  if (std::any_of(words.begin(), own_end,
                  [](const auto& word) { return word == "--help" || word == "-h"; })) {
    print_help(command);
    return 0;
  }
  try {
    return command.run({words, command.options});
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", command.name, error.what()));
  }
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    print_help();
    return words.empty() ? static_cast<int>(ExitCode::usage) : 0;
  }
  if (words[0] == "--version") {
    fmt::print("nccl-setup {}\n", LOCKSTEP_VERSION);
    return 0;
  }
  return run(find_command(words[0]), std::span(words).subspan(1));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "nccl-setup: error: cannot write the output\n");
      return static_cast<int>(ExitCode::cannot_create);
    }
    return code;
  } catch (const Error& error) {
    fmt::print(stderr, "nccl-setup: error: {}\n", clean_text(error.what()));
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "nccl-setup: internal error: {}\n", clean_text(error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}
