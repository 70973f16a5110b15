#include "train/guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "train/identity.h"

namespace lockstep::train {

namespace {

constexpr const char* mean_key = "guard.mean";
constexpr const char* accepted_key = "guard.accepted";
constexpr const char* in_a_row_key = "guard.in_a_row";

// The sign of a NaN depends on how it arose.
std::string text_of(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

}  // namespace

bool Guard::is_spike(double loss) const {
  return config_.spike_factor > 0 && accepted_ >= window && !(loss <= config_.spike_factor * mean_);
}

std::string Guard::fault_of_loss(double loss) const {
  if (!std::isfinite(loss)) return fmt::format("the loss is {}", text_of(loss));
  if (!is_spike(loss)) return {};
  return fmt::format("the loss is {}, more than {} x the recent mean of {}", text_of(loss),
                     config_.spike_factor, text_of(mean_));
}

std::string Guard::fault_of_gradient(double norm) {
  return std::isfinite(norm) ? std::string() : fmt::format("the gradient's norm is {}", text_of(norm));
}

bool Guard::stands_out(double loss) const {
  return !std::isfinite(loss) || is_spike(loss);
}

double Guard::mean() const {
  return accepted_ > 0 ? mean_ : std::numeric_limits<double>::quiet_NaN();
}

void Guard::accept(double loss) {
  ++accepted_;
  mean_ += (loss - mean_) / static_cast<double>(std::min(accepted_, window));
  in_a_row_ = 0;
}

void Guard::reject(std::int64_t step, const std::string& what) {
  ++in_a_row_;
  if (in_a_row_ <= config_.max_anomalies) return;
  throw AgreedError(
      ExitCode::bad_config,
      fmt::format("step {}: {}; {} anomalies in a row are more than guard.max_anomalies = {}: look at "
                  "anomalies.csv, lower optim.lr or set optim.clip_norm; the last checkpoint is untouched",
                  step, what, in_a_row_, config_.max_anomalies));
}

void Guard::roll_back_to(const Guard& earlier) {
  mean_ = earlier.mean_;
  accepted_ = earlier.accepted_;
}

void Guard::write(checkpoint::State& state) const {
  state.values[mean_key] = mean_;
  state.values[accepted_key] = accepted_;
  state.values[in_a_row_key] = in_a_row_;
}

void Guard::read(const checkpoint::State& state) {
  if (!state.values.contains(mean_key)) return;
  mean_ = real_value(state, mean_key);
  accepted_ = int_value(state, accepted_key);
  in_a_row_ = int_value(state, in_a_row_key);
}

}  // namespace lockstep::train
