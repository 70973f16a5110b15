// Clipping by the global norm, as torch.nn.utils.clip_grad_norm_ does it.
#pragma once

#include "nn/parameter_set.h"

namespace lockstep::optim {

// L2 norm of gradient_scale * all gradients, in f64 and in a fixed order.
double gradient_norm(const nn::ParameterSet& parameters, double gradient_scale);

// min(1, max_norm / (norm + 1e-6)); 1 if max_norm is 0 (no clipping). NaN for a norm that is NaN.
double clip_coefficient(double norm, double max_norm);

}  // namespace lockstep::optim
