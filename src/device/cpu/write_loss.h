#pragma once

#include "device/device.h"

namespace lockstep::device::cpu {

inline void write_loss(const LossSum& result, const Tensor& sums) {
  require_shape(sums, {3}, "loss: sums");
  sums.f64()[0] = result.loss;
  sums.f64()[1] = static_cast<double>(result.correct);
  sums.f64()[2] = static_cast<double>(result.invalid);
}

}  // namespace lockstep::device::cpu
