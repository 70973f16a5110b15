#include "optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace lockstep::optim {

namespace {

constexpr std::int64_t default_decay_part = 10;  // wsd: a tenth of all steps

// The part of the way from the peak to the final rate that is still to go: 1 at the peak, 0 at the end.
double part_left(ScheduleKind kind, double progress) {
  if (kind == ScheduleKind::cosine) return 0.5 * (1. + std::cos(std::numbers::pi * progress));
  return 1. - progress;
}

}  // namespace

ScheduleKind schedule_kind(std::string_view name) {
  if (name == "constant") return ScheduleKind::constant;
  if (name == "linear") return ScheduleKind::linear;
  if (name == "cosine") return ScheduleKind::cosine;
  if (name == "wsd") return ScheduleKind::wsd;
  throw Error(ExitCode::bad_config,
              fmt::format("there is no schedule '{}': wanted constant, linear, cosine or wsd", name));
}

std::int64_t decay_steps_of(const ScheduleOptions& options, std::int64_t total_steps) {
  if (options.decay_steps > 0) return options.decay_steps;
  return std::max<std::int64_t>(1, total_steps / default_decay_part);
}

double learning_rate(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps) {
  const std::int64_t warmup = options.warmup_steps;
  if (step < warmup)
    return options.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (options.kind == ScheduleKind::constant) return options.learning_rate;
  if (step >= total_steps) return options.final_rate;
  const std::int64_t begin =
      options.kind == ScheduleKind::wsd ? total_steps - decay_steps_of(options, total_steps) : warmup;
  if (step < begin) return options.learning_rate;
  const double progress = static_cast<double>(step - begin) / static_cast<double>(total_steps - begin);
  return options.final_rate +
         (options.learning_rate - options.final_rate) * part_left(options.kind, progress);
}

}  // namespace lockstep::optim
