// What the user reads of a plan.
#pragma once

#include <string>

#include "plan/plan.h"

namespace lockstep::spank {

// The table of `show`, if it has a line: from one rank alone.
void tell_table(const Plan& plan);

// A line for each finding; from one task of each node.
void tell_findings(const Plan& plan, const std::string& node);

bool has_problem(const Plan& plan);

}  // namespace lockstep::spank
