#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// max(0, x), any shape. Layers with an activation argument do it in the same pass.
Variable relu(Tape& tape, const Variable& x);

}  // namespace lockstep::nn
