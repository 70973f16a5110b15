// `lockstep checkpoint info|verify FILE`.
#pragma once

#include <span>
#include <string>

namespace lockstep::cli {

// Exit codes: 0, 64 (usage), 65 (damaged), 66 (no such file), 78 (newer format). Needs no MPI.
int checkpoint_command(std::span<const std::string> args);

}  // namespace lockstep::cli
