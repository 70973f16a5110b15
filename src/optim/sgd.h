#pragma once

#include <memory>

#include "optim/optimizer.h"

namespace lockstep::optim {

// torch.optim.SGD with momentum (no dampening, no Nesterov):
//   g = gradient_scale * gradient + weight_decay * value;  m = momentum * m + g;  value -= learning_rate * m
// State: "momentum".
std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, nn::ParameterSet& parameters);

}  // namespace lockstep::optim
