#include "train/guard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text.h"
#include "train/identity.h"

namespace lockstep::train {

namespace {

constexpr const char* mean_key = "guard.mean";
constexpr const char* accepted_key = "guard.accepted";
constexpr const char* first_key = "guard.first";
constexpr const char* in_a_row_key = "guard.in_a_row";
constexpr const char* rollbacks_key = "guard.rollbacks";
constexpr const char* rollback_aim_key = "guard.rollback_aim";

// The sign of a NaN depends on how it arose.
std::string text_of(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
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
  in_a_row_ = 0;
  if (++accepted_ > window) {
    mean_ += (loss - mean_) / static_cast<double>(window);
    return;
  }
  first_.push_back(loss);
  mean_ = median(first_);
  if (accepted_ == window) first_.clear();
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

void Guard::count_rollback(std::int64_t step, const std::string& what, std::int64_t aim) {
  rollbacks_ = rollbacks_ > 0 && aim == rollback_aim_ ? rollbacks_ + 1 : 1;
  rollback_aim_ = aim;
  if (rollbacks_ <= config_.max_anomalies) return;
  throw AgreedError(
      ExitCode::bad_config,
      fmt::format("step {}: {}; the run has gone back to step {} {} times, as many as guard.max_anomalies "
                  "allows, and has come to no checkpoint in between: correct the samples that anomalies.csv "
                  "lists, lower optim.lr, or make checkpoint.every less than the steps between anomalies",
                  step, what, aim, rollbacks_ - 1));
}

void Guard::roll_back_to(const Guard& earlier) {
  mean_ = earlier.mean_;
  accepted_ = earlier.accepted_;
  first_ = earlier.first_;
}

void Guard::write(checkpoint::State& state) const {
  state.values[mean_key] = mean_;
  state.values[accepted_key] = accepted_;
  state.values[first_key] = fmt::format("{}", fmt::join(first_, ","));
  state.values[in_a_row_key] = in_a_row_;
  state.values[rollbacks_key] = rollbacks_;
  state.values[rollback_aim_key] = rollback_aim_;
}

void Guard::read(const checkpoint::State& state) {
  if (!state.values.contains(first_key)) return;
  mean_ = real_value(state, mean_key);
  accepted_ = int_value(state, accepted_key);
  first_.clear();
  for (const std::string& loss : split(text_value(state, first_key), ',')) {
    first_.push_back(parse_double(loss).value_or(0));
  }
  in_a_row_ = int_value(state, in_a_row_key);
  rollbacks_ = int_value(state, rollbacks_key);
  rollback_aim_ = int_value(state, rollback_aim_key);
}

}  // namespace lockstep::train
