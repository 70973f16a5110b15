#include "nn/mean_squared_error.h"

namespace lockstep::nn {

double mean_squared_error(Tape& tape, const Variable& predictions, const device::Tensor& targets) {
  device::Tensor gradient;
  if (predictions.needs_gradient()) gradient = tape.device().empty(predictions.value.shape());
  const double loss = tape.device().mean_squared_error(predictions.value, targets, gradient);
  // Backward starts here, so the gradient is made in the same pass and waits on the tape.
  if (gradient) tape.add_gradient(predictions, gradient);
  return loss;
}

}  // namespace lockstep::nn
