// The step that an explanation is about: the one around it, or an example.
#pragma once

#include <string>

#include "step/environment.h"

namespace lockstep::spank {

struct ExampleStep {
  std::string node;
  int nodes = 2;
  int tasks_per_node = 1;
  int gpus = 0;  // of the node, all of them the job's
};

// What rank 0 of a job's first step finds in its environment.
Environment environment_of(const ExampleStep& step);

// Without what Slurm has told about another job or step.
Environment without_slurm(const Environment& environment);

bool in_step(const Environment& environment);

}  // namespace lockstep::spank
