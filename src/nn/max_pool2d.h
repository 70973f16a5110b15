#pragma once

#include <cstdint>

#include "nn/tape.h"

namespace lockstep::nn {

// The largest value of each window; x [n, h, w, c] -> [n, device::window_output(h, window), ..., c]. With
// relu the result is max(0, .): the same as a ReLU before the pooling, for a fraction of the memory traffic.
// An image smaller than a window is Error(bad_config).
Variable max_pool2d(Tape& tape, const Variable& x, const device::PoolWindow& window,
                    device::Activation activation = device::Activation::none);
// Windows side by side: stride = size.
inline Variable max_pool2d(Tape& tape, const Variable& x, std::int64_t size,
                           device::Activation activation = device::Activation::none) {
  return max_pool2d(tape, x, {.size = size, .stride = size}, activation);
}

}  // namespace lockstep::nn
