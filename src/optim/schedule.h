// Learning rates as a pure function of the step: nothing to save, nothing to restore.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::optim {

enum class ScheduleKind { constant, cosine };

// Error(bad_config) for anything but "constant" and "cosine".
ScheduleKind schedule_kind(std::string_view name);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 0.1;     // the peak
  std::int64_t warmup_steps = 0;  // linear, from learning_rate / warmup_steps to learning_rate
  double final_fraction = 0.0;    // cosine: the rate after the last step is this part of the peak
};

// The rate of step 0 <= step < total_steps. With warm-up of W steps: learning_rate (step + 1) / W while step
// < W; then constant, or half a cosine over the steps that are left.
double learning_rate(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps);

}  // namespace lockstep::optim
