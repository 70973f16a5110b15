// What is made small: the loss of a micro-batch as the configuration names it.
#pragma once

#include "data/batch.h"
#include "device/device.h"
#include "nn/tape.h"
#include "train/config.h"

namespace lockstep::train {

class Objective {
 public:
  explicit Objective(const Config::Train& config);

  // Whether there are right and wrong answers to count.
  bool counts_correct() const { return kind_ == Kind::cross_entropy; }

  // The batch's labels or targets, sent to the device (Device::send). Throws Error(bad_config) where the loss
  // needs labels and the batch has none.
  device::Tensor send_targets(device::Device& device, const data::Batch& batch) const;

  // The loss of `outputs` [n, classes or target width] against what send_targets() has sent, on the device
  // (Device::read_loss); its gradient waits on the tape. Label smoothing is part of the loss that is trained
  // on, not of the one that is evaluated. Throws Error(bad_config) where the targets are not what this loss
  // needs.
  device::Tensor operator()(nn::Tape& tape, const nn::Variable& outputs, const device::Tensor& targets) const;

 private:
  enum class Kind { cross_entropy, mse };

  Kind kind_;
  double label_smoothing_;
};

}  // namespace lockstep::train
