#pragma once

#include <memory>

#include "optim/optimizer.h"

namespace lockstep::optim {

// torch.optim.AdamW, t being the number of the update:
//   value *= 1 - learning_rate * weight_decay;  g = gradient_scale * gradient
//   exp_avg = beta1 * exp_avg + (1 - beta1) * g;  exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g^2
//   value -= learning_rate * exp_avg / (1 - beta1^t) / (sqrt(exp_avg_sq / (1 - beta2^t)) + eps)
// State: "exp_avg" and "exp_avg_sq", PyTorch's names.
std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options, nn::ParameterSet& parameters);

}  // namespace lockstep::optim
