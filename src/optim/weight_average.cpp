#include "optim/weight_average.h"

namespace lockstep::optim {

WeightAverage::WeightAverage(double decay, nn::ParameterSet& parameters)
    : weight_(static_cast<float>(1. - decay)), parameters_(parameters) {
  for (const nn::ParameterGroup& group : parameters.groups()) {
    buffers_.push_back(parameters.device().empty(group.values.shape()));
    parameters.device().copy(group.values, buffers_.back());
  }
}

void WeightAverage::update() {
  const std::span<const nn::ParameterGroup> groups = parameters_.groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    parameters_.device().lerp(weight_, groups[i].values, buffers_[i]);
  }
}

}  // namespace lockstep::optim
