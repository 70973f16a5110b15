// What `--nccl=show` and `nccl-setup explain` print.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace lockstep::spank {

// Lines without newline: variable, value, from where, why; aligned, each at most `width` columns where words
// allow. Names are cut at 60 columns, values at 400. Printable ASCII, whatever the plan holds.
std::vector<std::string> table_of(const Plan& plan, std::size_t width = 120);

// "problem: TEXT; REMEDY", one line of printable ASCII.
std::string line_of(const Finding& finding);

}  // namespace lockstep::spank
