#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// The mean over each image: x [n, h, w, c] -> [n, c].
Variable average_pool2d(Tape& tape, const Variable& x);

}  // namespace lockstep::nn
