// One file per subcommand; adding one is adding a file and a line in the table of command.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep::cli {

struct Command {
  std::string_view name;
  std::string_view summary;
  // `args` are the words after the subcommand. Returns the exit code; throws lockstep::Error.
  int (*run)(std::span<const std::string> args);
};

std::span<const Command> commands();

}  // namespace lockstep::cli
