#pragma once

#include <cstdint>

#include "nn/tape.h"

namespace lockstep::nn {

// The largest value of each size x size window, stride = size; x [n, h, w, c] -> [n, h/size, w/size, c]. With
// relu the result is max(0, .): the same as a ReLU before the pooling, for a fraction of the memory traffic.
// An image smaller than a window is Error(bad_config).
Variable max_pool2d(Tape& tape, const Variable& x, std::int64_t size,
                    device::Activation activation = device::Activation::none);

}  // namespace lockstep::nn
