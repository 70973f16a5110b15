#include "nn/mean_squared_error.h"

namespace lockstep::nn {

device::Tensor mean_squared_error(Tape& tape, const Variable& predictions, const device::Tensor& targets) {
  device::Tensor gradient;
  if (predictions.needs_gradient()) {
    gradient = tape.device().empty(predictions.value.shape(), predictions.value.dtype());
  }
  device::Tensor sums = tape.device().empty({3}, device::DType::f64);
  tape.device().mean_squared_error(predictions.value, targets, tape.context().loss_scale, gradient, sums);
  // Backward starts here, so the gradient is made in the same pass and waits on the tape.
  if (gradient) tape.add_gradient(predictions, gradient);
  return sums;
}

}  // namespace lockstep::nn
