#include "models/head.h"

#include <fmt/format.h>

#include <utility>

#include "nn/dropout.h"

namespace lockstep::models {

Head::Head(nn::ParameterSet& parameters, std::int64_t features, std::span<const std::int64_t> hidden,
           std::int64_t outputs, double dropout, device::Activation activation)
    : dropout_(dropout), activation_(activation) {
  std::vector<std::int64_t> widths(hidden.begin(), hidden.end());
  widths.push_back(outputs);
  for (const std::int64_t width : widths) {
    layers_.emplace_back(parameters, fmt::format("fc{}", layers_.size() + 1), features, width);
    features = width;
  }
}

nn::Variable Head::operator()(nn::Tape& tape, nn::Variable x, bool drop_input) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (i > 0 || drop_input) x = nn::dropout(tape, x, dropout_);
    const bool last = i + 1 == layers_.size();
    x = layers_[i](tape, x, last ? device::Activation::none : activation_);
  }
  return x;
}

}  // namespace lockstep::models
