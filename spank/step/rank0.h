// Which node runs rank 0. Slurm has no variable for it, and the first host of the step's node list, which all
// scripts take, is wrong for arbitrary distributions and for heterogeneous steps: their node lists are
// sorted.
#pragma once

#include <string>
#include <vector>

#include "step/environment.h"
#include "step/step.h"

namespace lockstep::spank {

struct TaskLayout {
  std::vector<int> ranks_here;      // empty: not known
  std::vector<int> tasks_per_node;  // in the order of the step's node list; empty: not known
};

struct Rank0 {
  std::string node;            // empty: cannot be known
  std::string note;            // where it comes from, or why it cannot be known
  bool heterogeneous = false;  // the step runs in several components
};

// `step` with its ranks and nodes filled in. Nodes that find an answer find the same one, but for one case
// that no variable tells apart: in a step of several components in one allocation, without PMIx, a node may
// happen to have the same number in the step as it has place in the sorted list.
Rank0 find_rank0(const Environment& environment, const Step& step, const TaskLayout& layout);

}  // namespace lockstep::spank
