// The plugin's options of srun, sbatch and salloc.
#pragma once

#include "plugin/slurm.h"
#include "plugin/state.h"
#include "step/environment.h"

namespace lockstep::spank {

// Call in the callback `init` of every context in which options count: Slurm loses an option that one side
// lacks.
void register_options(spank_t spank);

// In srun: notes which options an outer command has set, before Slurm reports them.
void note_inherited_options(State& state);

// On a node Slurm reports all options alike: notes which of them the step's own command has given. What an
// outer one has left is still in the job's environment.
void note_own_options(State& state, const Environment& environment);

// In sbatch and salloc, whose job may start long after: what is wrong with the variables, a line for each.
// For srun the nodes tell, and can do so once, since a variable costs no refusal there.
bool user_variables_are_sound(const State& state);

}  // namespace lockstep::spank
