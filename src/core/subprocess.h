// Runs a short command and gives back what it printed, within a time limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

struct CommandResult {
  int exit_code = -1;  // 127 where the program was not found; -1 where it was ended by a signal
  bool timed_out = false;
  std::string output;  // standard output, and standard error after it
  bool ok() const { return exit_code == 0 && !timed_out; }
};

struct CommandOptions {
  std::chrono::milliseconds limit;
  std::stop_token stop;
  // Added to this process's environment.
  std::vector<std::pair<std::string, std::string>> environment;
  // In a process group of its own, and killed with all that it has started there.
  bool own_group = false;
  std::size_t most_output = std::numeric_limits<std::size_t>::max();  // bytes that are kept
};

// No shell: `arguments[0]` is looked up in PATH. Past `limit`, or when `stop` is requested, the command is
// killed and counts as timed out; a few seconds later at most this returns. It has ended when nobody holds
// its output open any more. Uses posix_spawn, which is safe in a process that has MPI, threads and large
// memory.
CommandResult run_command(const std::vector<std::string>& arguments, const CommandOptions& options);
CommandResult run_command(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                          const std::stop_token& stop = {});

}  // namespace lockstep
