// A job that is submitted from inside a step.
#pragma once

namespace lockstep::spank {

// sbatch and salloc hand their own environment on: what the plugin has set in the step around them is no wish
// of the user's for the new job, whose script would meet at another job's port.
void forget_outer_step();

}  // namespace lockstep::spank
