// An exponential moving average of the weights, for evaluation.
#pragma once

#include <span>
#include <vector>

#include "nn/parameter_set.h"

namespace lockstep::optim {

// Starts as a copy of the weights; update() moves it: average += (1 - decay) * (weight - average), element by
// element in f32, so that its bits are a function of the weights' history alone.
class WeightAverage {
 public:
  // 0 < decay < 1. The parameters are allocated and outlive the average.
  WeightAverage(double decay, nn::ParameterSet& parameters);

  // After each update of the weights.
  void update();

  // One per group, laid out like its values: parameter.slice_of(buffers()).
  std::span<const device::Tensor> buffers() const { return buffers_; }

  // As long as this object lives, the parameters' values are the average, and the weights wait in its place.
  class InUse {
   public:
    explicit InUse(WeightAverage& average) : average_(average) { average_.exchange(); }
    ~InUse() { average_.exchange(); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;

   private:
    WeightAverage& average_;
  };

 private:
  void exchange() { parameters_.exchange_values(buffers_); }

  float weight_;
  nn::ParameterSet& parameters_;
  std::vector<device::Tensor> buffers_;
};

}  // namespace lockstep::optim
