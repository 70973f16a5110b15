// What the user reads of a plan.
#pragma once

#include "plan/plan.h"
#include "step/step.h"

namespace lockstep::spank {

// The table of `show`, if it has a line: from one rank alone.
void tell_table(const Plan& plan);

// A line for each finding: the first task of a node tells those of the node, each task its own.
void tell_findings(const Plan& plan, const Step& step);

bool has_problem(const Plan& plan);

}  // namespace lockstep::spank
