// Who is running: one start of a run, told apart from every other start (contract C10).
#pragma once

#include <string>

namespace lockstep::train {

struct Attempt {
  std::string job;   // Slurm's job id; "local-TIME-PID" outside Slurm
  int restart = 0;   // Slurm's restart count
  std::string node;  // of rank 0
  long pid = 0;      // of rank 0
  bool in_slurm = false;

  // "1234.0": names outcome files and temporary checkpoints.
  std::string token() const { return job + "." + std::to_string(restart); }
};

}  // namespace lockstep::train
