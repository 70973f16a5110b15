#include "nn/softmax_cross_entropy.h"

namespace lockstep::nn {

device::LossSum softmax_cross_entropy(Tape& tape, const Variable& logits, const device::Tensor& labels,
                                      double label_smoothing) {
  device::Tensor gradient;
  if (logits.needs_gradient()) gradient = tape.device().empty(logits.value.shape());
  const device::LossSum loss =
      tape.device().softmax_cross_entropy(logits.value, labels, label_smoothing, gradient);
  // Backward starts here, so the gradient is made in the same pass and waits on the tape.
  if (gradient) tape.add_gradient(logits, gradient);
  return loss;
}

}  // namespace lockstep::nn
