#pragma once

#include "nn/tape.h"

namespace lockstep::nn {

// In training, zeroes elements with this probability and divides the others by 1 - probability; else the
// identity. x [n, ...]. Which elements depends on the seed, the step, the layer's number and the sample's id,
// not on the batch that the sample is in (contract C1).
Variable dropout(Tape& tape, const Variable& x, double probability);

}  // namespace lockstep::nn
