// Where the step around the command has another environment than the explanation: options of srun cannot be
// seen in it, and the plugin may have had another site's file.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "step/environment.h"

namespace lockstep::spank {

// Whether the plugin has set anything here, or in a step around it.
bool plugin_has_set(const Environment& environment);

// How the site's file that the plugin used differs from that of the plan, "the plugin used no site's file in
// this step"; empty: it does not, or nothing is known.
std::string other_site_file(const Plan& plan, const Environment& environment);

// A line for each variable: what it is instead, and as far as it is known who has set it.
std::vector<std::string> differences(const Plan& plan, const Environment& environment);

}  // namespace lockstep::spank
