#include "optim/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "core/error.h"

namespace lockstep::optim {

ScheduleKind schedule_kind(std::string_view name) {
  if (name == "constant") return ScheduleKind::constant;
  if (name == "cosine") return ScheduleKind::cosine;
  throw Error(ExitCode::bad_config,
              fmt::format("there is no schedule '{}': wanted constant or cosine", name));
}

double learning_rate(const ScheduleOptions& options, std::int64_t step, std::int64_t total_steps) {
  const std::int64_t warmup = options.warmup_steps;
  if (step < warmup)
    return options.learning_rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (options.kind == ScheduleKind::constant || step >= total_steps) {
    return options.kind == ScheduleKind::constant ? options.learning_rate
                                                  : options.learning_rate * options.final_fraction;
  }
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(total_steps - warmup);
  const double part = 0.5 * (1. + std::cos(std::numbers::pi * progress));
  return options.learning_rate * (options.final_fraction + (1. - options.final_fraction) * part);
}

}  // namespace lockstep::optim
