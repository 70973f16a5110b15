#include "train/deadline.h"

#include <algorithm>

#include "core/clock.h"
#include "core/pause.h"
#include "slurm/queries.h"

namespace lockstep::train {

namespace {

constexpr double reserve = 5;  // seconds

}  // namespace

std::chrono::seconds pause_before_asking(std::optional<double> seconds_left) {
  constexpr double longest = 120;
  constexpr double shortest = 5;
  const double pause = std::clamp(seconds_left.value_or(4 * longest) / 4, shortest, longest);
  return std::chrono::seconds(static_cast<std::int64_t>(pause));
}

Deadline::Deadline(const slurm::Allocation& allocation, bool ask) {
  if (!ask) return;
  end_ = allocation.end_time;
  if (!allocation.in_job()) return;
  thread_ = std::jthread([this, job = allocation.job_id](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (const auto end = slurm::job_end_time(job, stop)) {
        const std::lock_guard guard(mutex_);
        end_ = end;
      }
      const auto known = end_time();
      pause_for(pause_before_asking(known ? std::optional(static_cast<double>(*known) - wall_seconds())
                                          : std::nullopt),
                stop);
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
