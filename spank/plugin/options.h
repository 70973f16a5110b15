// The plugin's options of srun, sbatch and salloc.
#pragma once

#include "plugin/slurm.h"
#include "plugin/state.h"

namespace lockstep::spank {

// Call in the callback `init` of every context in which options count: Slurm loses an option that one side
// lacks.
void register_options(spank_t spank);

// In srun: notes which options an outer command has set, before Slurm reports them.
void note_inherited_options(State& state);

// What is wrong with options and variables together, a line for each; before anything is started.
bool user_options_are_sound(const State& state);

}  // namespace lockstep::spank
