#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// The SUM of the samples' losses over the micro-batch and the number of right answers, on the device
// (Device::read_loss). The gradient is that of the sum as well, times the context's loss scale: the division
// by the true number of samples of the global batch is the optimizer's (gradient_scale). logits [n, classes],
// labels (i64) [n]. label_smoothing in [0, 1] as torch.nn.CrossEntropyLoss has it.
device::Tensor softmax_cross_entropy(Tape& tape, const Variable& logits, const device::Tensor& labels,
                                     double label_smoothing = 0.);

}  // namespace lockstep::nn
