// Learning rates as a pure function of the step: nothing to save, nothing to restore.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::optim {

enum class ScheduleKind { constant, linear, cosine, wsd };

// Error(bad_config) for anything but "constant", "linear", "cosine" and "wsd".
ScheduleKind schedule_kind(std::string_view name);

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  double learning_rate = 0.1;     // the peak
  std::int64_t warmup_steps = 0;  // linear, from learning_rate / warmup_steps to learning_rate
  std::int64_t decay_steps = 0;   // wsd: the last steps; 0: a tenth of all, at least one
  double final_rate = 0.0;        // of linear, cosine and wsd, after the last step
};

// The steps of wsd's decay.
std::int64_t decay_steps_of(const ScheduleOptions& options, std::int64_t total_steps);

// The rate of step 0 <= step < total_steps. With warm-up of W steps: learning_rate (step + 1) / W while step
// < W. After it: constant; a straight line (linear) or half a cosine (cosine) over the steps that are left,
// down to final_rate; or (wsd: warm-up, stable, decay) constant until a straight line over the last
// decay_steps. From total_steps on the rate is the final one.
double learning_rate(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps);

}  // namespace lockstep::optim
