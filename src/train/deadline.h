// When the job's time ends, and when saving must begin to be done by then (contract C4).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "slurm/allocation.h"

namespace lockstep::train {

class Deadline {
 public:
  // The end time comes from the environment where Slurm puts it there, else from `squeue`, asked at once and
  // every two minutes in a thread of its own (the admin may extend the limit). Only rank 0 has one of these
  // that asks.
  Deadline(const slurm::Allocation& allocation, bool ask);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Seconds since 1970; absent where it is not (yet) known: then saving is by signal alone.
  std::optional<std::int64_t> end_time() const;

  // True when less is left than leaving takes: `save_seconds` (measured, or an estimate) twice, two steps,
  // and a reserve for the last barrier and for Slurm.
  bool near(double save_seconds, double step_seconds) const;

 private:
  mutable std::mutex mutex_;
  std::optional<std::int64_t> end_;
  std::jthread thread_;
};

}  // namespace lockstep::train
