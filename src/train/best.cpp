#include "train/best.h"

#include <fmt/format.h>

#include <cmath>

#include "train/identity.h"

namespace lockstep::train {

namespace {

constexpr const char* metric_key = "best.metric";
constexpr const char* value_key = "best.value";
constexpr const char* step_key = "best.step";
constexpr const char* since_key = "best.since";

}  // namespace

bool Best::offer(std::int64_t step, const Evaluation& evaluation) {
  const bool by_accuracy = config_.metric == "accuracy";
  const double value = by_accuracy ? evaluation.accuracy.value() : evaluation.loss;
  const double gain = by_accuracy ? value - value_ : value_ - value;
  if (!std::isfinite(value) || (step_ >= 0 && !(gain > config_.min_delta))) {
    ++since_;
    return false;
  }
  value_ = value;
  step_ = step;
  since_ = 0;
  return true;
}

std::string Best::verdict() const {
  return fmt::format(
      "no better {} in {} evaluation{}; {}", config_.metric, since_, since_ == 1 ? "" : "s",
      step_ < 0 ? std::string("none was finite") : fmt::format("best {:.4g} after step {}", value_, step_));
}

void Best::write(checkpoint::State& state) const {
  state.values[metric_key] = config_.metric;
  state.values[value_key] = value_;
  state.values[step_key] = step_;
  state.values[since_key] = since_;
}

void Best::read(const checkpoint::State& state, const std::string& test_data) {
  if (!state.values.contains(metric_key) || text_value(state, metric_key) != config_.metric ||
      text_value(state, "test_data") != test_data) {
    return;
  }
  value_ = real_value(state, value_key);
  step_ = int_value(state, step_key);
  since_ = int_value(state, since_key);
}

}  // namespace lockstep::train
