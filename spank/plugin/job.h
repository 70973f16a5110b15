// The job as Slurm shows it to the plugin in task_init: read as a whole, changed one variable at a time.
#pragma once

#include <string>
#include <vector>

#include "plan/make_plan.h"
#include "plugin/slurm.h"
#include "step/environment.h"

namespace lockstep::spank {

// False for what Slurm runs beside the user's steps: batch script, interactive and extern step. Values that
// are set there would be inherited by every step inside and look like the user's own.
bool is_program_step(spank_t spank);

// Throws std::runtime_error beyond 8 MiB: a part of an environment could hide what the user has set.
Environment environment_of(spank_t spank);

// Program and arguments, at most 1000 of at most 4096 bytes each.
std::vector<std::string> command_of(spank_t spank);

// Makes the changes and reads each of them back, since Slurm reports success for values that it has not set.
// What could not be changed is returned, a line for each.
std::vector<std::string> make_changes(spank_t spank, const std::vector<Change>& changes);

}  // namespace lockstep::spank
