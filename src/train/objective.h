// What is made small: the loss of a micro-batch as the configuration names it.
#pragma once

#include "data/batch.h"
#include "nn/tape.h"
#include "train/config.h"

namespace lockstep::train {

class Objective {
 public:
  explicit Objective(const Config::Train& config);

  // Whether there are right and wrong answers to count.
  bool counts_correct() const { return kind_ == Kind::cross_entropy; }

  // The loss of `outputs` [n, classes or target width] against the batch's labels or targets, on the device
  // (Device::read_loss); its gradient waits on the tape. Label smoothing is part of the loss that is trained on, not of the one that is
  // evaluated. Throws Error(bad_config) where the batch has not what this loss needs.
  device::Tensor operator()(nn::Tape& tape, const nn::Variable& outputs, const data::Batch& batch) const;

 private:
  enum class Kind { cross_entropy, mse };

  device::Tensor cross_entropy(nn::Tape& tape, const nn::Variable& outputs, const data::Batch& batch) const;
  device::Tensor mse(nn::Tape& tape, const nn::Variable& outputs, const data::Batch& batch) const;

  Kind kind_;
  double label_smoothing_;
};

}  // namespace lockstep::train
