#include "optim/gradient_norm.h"

#include <cmath>

namespace lockstep::optim {

double gradient_norm(const nn::ParameterSet& parameters, double gradient_scale) {
  double sum = 0.;
  for (const nn::ParameterGroup& group : parameters.groups()) {
    sum += parameters.device().sum_of_squares(group.gradients);
  }
  return std::abs(gradient_scale) * std::sqrt(sum);
}

double clip_coefficient(double norm, double max_norm) {
  if (max_norm == 0.) return 1.;
  const double coefficient = max_norm / (norm + 1e-6);
  return coefficient > 1. ? 1. : coefficient;
}

}  // namespace lockstep::optim
