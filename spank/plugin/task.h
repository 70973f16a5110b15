// What the plugin does for one task, as its user, right before the program starts.
#pragma once

#include "plugin/slurm.h"
#include "plugin/state.h"

namespace lockstep::spank {

// What Slurm is told: 0, or -1 where the mode is strict and something is wrong.
int set_up_task(spank_t spank, State& state);

}  // namespace lockstep::spank
