#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// The SUM over the micro-batch of the samples' losses, a sample's loss being the mean over its width of
// (prediction - target)^2: divided by the number of samples it is torch.nn.MSELoss. It stays on the device
// (Device::read_loss). The gradient is that of the sum as well, times the context's loss scale. predictions
// and targets [n, width].
device::Tensor mean_squared_error(Tape& tape, const Variable& predictions, const device::Tensor& targets);

}  // namespace lockstep::nn
