// One file per subcommand; adding one is adding a file and a line in the table of command.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "command/arguments.h"

namespace lockstep::spank {

struct Command {
  std::string_view name;
  std::string_view synopsis;  // what follows the name in the usage
  std::string_view summary;   // one line, for the list of commands
  std::string_view details;   // for its own help; lines
  std::span<const Option> options;
  // Returns the exit code; throws lockstep::Error.
  int (*run)(const Arguments& arguments);
};

std::vector<Command> commands();

}  // namespace lockstep::spank
