#include "command/command.h"

namespace lockstep::spank {

Command explain_command();
Command check_command();
Command capture_command();
Command topo_command();

std::vector<Command> commands() {
  return {explain_command(), check_command(), capture_command(), topo_command()};
}

}  // namespace lockstep::spank
