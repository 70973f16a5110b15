#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// Images [n, h, w, c] to rows [n, c * h * w] in PyTorch's order (channel by channel), so that the weights of
// the linear layer behind it mean the same here and there.
Variable flatten(Tape& tape, const Variable& x);

}  // namespace lockstep::nn
