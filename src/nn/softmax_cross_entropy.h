#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// The SUM of the samples' losses over the micro-batch and the number of right answers. The gradient is that
// of the sum as well: the division by the true number of samples of the global batch is the optimizer's
// (gradient_scale). logits [n, classes], labels (i64) [n]; a label out of range is Error(bad_data).
// label_smoothing in [0, 1] as torch.nn.CrossEntropyLoss has it.
device::LossSum softmax_cross_entropy(Tape& tape, const Variable& logits, const device::Tensor& labels,
                                      double label_smoothing = 0.);

}  // namespace lockstep::nn
