#include "train/deadline.h"

#include <chrono>

#include "core/clock.h"
#include "core/pause.h"
#include "slurm/queries.h"

namespace lockstep::train {

namespace {

constexpr std::chrono::minutes ask_again{2};
constexpr double reserve = 5;  // seconds

}  // namespace

Deadline::Deadline(const slurm::Allocation& allocation, bool ask) : end_(allocation.end_time) {
  if (!ask || !allocation.in_job()) return;
  thread_ = std::jthread([this, job = allocation.job_id](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (const auto end = slurm::job_end_time(job, stop)) {
        const std::lock_guard guard(mutex_);
        end_ = end;
      }
      pause_for(ask_again, stop);
    }
  });
}

Deadline::~Deadline() = default;

std::optional<std::int64_t> Deadline::end_time() const {
  const std::lock_guard guard(mutex_);
  return end_;
}

bool Deadline::near(double save_seconds, double step_seconds) const {
  const auto end = end_time();
  return end && wall_seconds() + 2 * save_seconds + 2 * step_seconds + reserve >= static_cast<double>(*end);
}

}  // namespace lockstep::train
