#pragma once

#include <chrono>

#include "core/error.h"

namespace lockstep {

// The process ends by _exit with this code when the time is over, whatever its other threads are stuck in.
// For the last steps of a process that has decided to leave, which may block on a file system or a pipe.
void exit_within(std::chrono::seconds limit, ExitCode code);

}  // namespace lockstep
