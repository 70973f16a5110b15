// How a batch job ends: does it run again? Decided once per attempt by `lockstep requeue`, from the outcome
// in the run folder, the exit status of srun, and what Slurm says about the job (contract C5).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "slurm/queries.h"
#include "train/outcome.h"

namespace lockstep::train {

struct Verdict {
  bool requeue = false;
  bool by_slurm = false;   // it has been requeued already
  bool cancelled = false;  // by the user
  int exit_code = 0;       // of the batch script, where it is not requeued
  std::string reason;      // one line for people
};

// Failures in a row without a new checkpoint, this one included.
struct FailureCount {
  std::int64_t checkpoint_step = -1;  // of the newest checkpoint; -1: none
  int count = 0;
};

// Is this a failure that counts, given the outcome (if there is one) and srun's exit status?
bool is_failure(const std::optional<Outcome>& outcome, int status);

// What the file RUN/failures says; a garbled one counts as none.
FailureCount parse_failures(std::string_view text);

// The file RUN/failures; counts one more failure, from 1 again where there is a newer checkpoint than last
// time.
FailureCount count_failure(const std::filesystem::path& run, std::int64_t newest_checkpoint_step);

struct Situation {
  std::optional<Outcome> outcome;
  int status = 0;  // of srun
  slurm::JobStateAnswer job;
  int restart_count = 0;  // of this attempt
  int failures = 0;       // 0 unless is_failure()
  int max_failures = 0;
};

// The rules alone.
Verdict decide(const Situation& situation);

}  // namespace lockstep::train
