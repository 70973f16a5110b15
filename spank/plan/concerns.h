// The list of all concerns: a new one is a file of its own and a line here.
#pragma once

#include <span>

#include "plan/concern.h"

namespace lockstep::spank {

// In the order in which they must run: a later one may look at what an earlier one has decided.
std::span<const Concern> all_concerns();

}  // namespace lockstep::spank
