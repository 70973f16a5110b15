#pragma once

#include <cstdint>

#include "nn/tape.h"

namespace lockstep::nn {

// The shortcut without parameters of residual networks (option A): every stride-th pixel of both directions,
// with zeros for the channels that x does not have, half of them in front; x [n, h, w, c] -> [n,
// ceil(h/stride), ceil(w/stride), channels], channels >= c.
Variable subsample(Tape& tape, const Variable& x, std::int64_t stride, std::int64_t channels);

}  // namespace lockstep::nn
