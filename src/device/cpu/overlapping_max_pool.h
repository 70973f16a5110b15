// Max-pooling over windows that overlap or reach over the edge. Inside src/device/cpu only.
#pragma once

#include "device/device.h"

namespace lockstep::device::cpu {

// [n, oh, ow, c]
Shape pooled_shape(const Shape& image, const PoolWindow& window);

// As Device::max_pool_forward and max_pool_backward; the shapes have been checked.
void overlapping_max_pool_forward(int threads, const Tensor& x, const PoolWindow& window,
                                  Activation activation, const Tensor& y, const Tensor& index);
void overlapping_max_pool_backward(int threads, const Tensor& dy, const Tensor& index,
                                   const PoolWindow& window, const Tensor& dx);

}  // namespace lockstep::device::cpu
