// Batch normalisation over images in NHWC order, PyTorch's BatchNorm2d.
#pragma once

#include <cstdint>
#include <string>

#include "nn/tape.h"

namespace lockstep::nn {

// In training a micro-batch is normalised by its own mean and variance (contract C1), and the tape records
// both for the running ones; in evaluation the running ones are used.
class BatchNorm2d {
 public:
  static constexpr float epsilon = 1e-5f;

  // Registers "<name>.weight" and "<name>.bias" [channels] (both without weight decay), and the buffers
  // "<name>.running_mean" and "<name>.running_var".
  BatchNorm2d(ParameterSet& parameters, const std::string& name, std::int64_t channels);

  // activation(normalised x), [n, h, w, channels]. Training on one value per channel is Error(bad_config):
  // its variance is nothing to divide by.
  Variable operator()(Tape& tape, const Variable& x,
                      device::Activation activation = device::Activation::none) const;
  // The end of a residual block: activation(normalised x + residual), in the same pass.
  Variable operator()(Tape& tape, const Variable& x, const Variable& residual,
                      device::Activation activation) const;

 private:
  device::ChannelMoments moments(Tape& tape, const device::Tensor& x) const;

  std::string name_;
  std::size_t scale_, shift_;
  std::size_t running_mean_, running_variance_;
};

// Moves the running statistics by a tenth of the way (PyTorch's momentum = 0.1) to those of one micro-batch,
// a flat Tape::statistics(). The order of micro-batches matters.
void update_running_statistics(ParameterSet& parameters, const device::Tensor& statistics);

}  // namespace lockstep::nn
