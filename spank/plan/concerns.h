// The list of all concerns: a new one is a file of its own and a line here.
#pragma once

#include <span>

#include "plan/concern.h"

namespace lockstep::spank {

struct ListedConcern {
  Concern decide;
  // What it finds wrong with the node matters to programs on GPUs alone: other steps shall not hear of it.
  bool tells_gpu_steps_only;
};

// In the order in which they must run: a later one may look at what an earlier one has decided.
std::span<const ListedConcern> all_concerns();

}  // namespace lockstep::spank
