#include "nn/softmax_cross_entropy.h"

namespace lockstep::nn {

device::Tensor softmax_cross_entropy(Tape& tape, const Variable& logits, const device::Tensor& labels,
                                     double label_smoothing) {
  device::Tensor gradient;
  if (logits.needs_gradient()) {
    gradient = tape.device().empty(logits.value.shape(), logits.value.dtype());
  }
  device::Tensor sums = tape.device().empty({3}, device::DType::f64);
  tape.device().softmax_cross_entropy(logits.value, labels, label_smoothing, tape.context().loss_scale,
                                      gradient, sums);
  // Backward starts here, so the gradient is made in the same pass and waits on the tape.
  if (gradient) tape.add_gradient(logits, gradient);
  return sums;
}

}  // namespace lockstep::nn
