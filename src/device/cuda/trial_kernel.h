// A kernel that does nothing: whether the GPU runs ours at all.
#pragma once

namespace lockstep::device::cuda {

// Throws what check() throws.
void run_trial_kernel();

}  // namespace lockstep::device::cuda
