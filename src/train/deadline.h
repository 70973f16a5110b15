// When the job's time ends, and when saving must begin to be done by then (contract C4).
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "slurm/allocation.h"

namespace lockstep::train {

// How long to wait before Slurm is asked again for the end time, with so many seconds left until the known
// one: the nearer it is, the sooner, so that a limit that was extended late is seen before the run stops.
std::chrono::seconds pause_before_asking(std::optional<double> seconds_left);

class Deadline {
 public:
  // The end time comes from the environment where Slurm puts it there, and from `squeue`, asked at once and
  // again after each pause_before_asking() in a thread of its own: an admin may move it. Only rank 0 has one
  // of these that asks; one that does not knows no end time, not even the environment's, which may be
  // outdated by the answer that it has not heard.
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
