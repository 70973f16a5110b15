// The last part of a model: linear layers with an activation and dropout between them, no activation on the
// last.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nn/linear.h"

namespace lockstep::models {

class Head {
 public:
  // Registers fc1, fc2, ... : features -> hidden[0] -> ... -> outputs.
  Head(nn::ParameterSet& parameters, std::int64_t features, std::span<const std::int64_t> hidden,
       std::int64_t outputs, double dropout, device::Activation activation = device::Activation::relu);

  // x [n, features] -> [n, outputs]. Dropout before each layer, before the first one only if asked.
  nn::Variable operator()(nn::Tape& tape, nn::Variable x, bool drop_input) const;

 private:
  std::vector<nn::Linear> layers_;
  double dropout_;
  device::Activation activation_;
};

}  // namespace lockstep::models
