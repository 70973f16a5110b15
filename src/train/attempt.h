// Who is running: one start of a run, told apart from every other start (contract C10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::train {

struct Attempt {
  std::string job;           // Slurm's job id; "local-TIME-PID" outside Slurm
  int restart = 0;           // Slurm's restart count
  std::string cluster;       // SLURM_CLUSTER_NAME: job ids mean nothing on another cluster
  std::string node;          // of rank 0
  long pid = 0;              // of rank 0
  std::int64_t started = 0;  // process_start() of rank 0: tells the process from a later one with its pid
  bool in_slurm = false;

  // "1234.0": names outcome files and temporary checkpoints.
  std::string token() const { return job + "." + std::to_string(restart); }
};

// The lines of a run folder's owner file. Parsing takes what is there; what is missing or garbled has the
// defaults.
std::string to_text(const Attempt& attempt);
Attempt parse_attempt(std::string_view text);

// When a process of this host started, in clock ticks since boot; nothing where it is gone or a zombie.
std::optional<std::int64_t> process_start(long pid);

}  // namespace lockstep::train
