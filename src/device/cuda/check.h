// Turns the CUDA runtime's error codes into errors in words.
#pragma once

#include <cuda_runtime_api.h>

namespace lockstep::device::cuda {

// Throws where `status` is no success: Error(peer_failed) for a device that is lost, so that the run is
// requeued elsewhere; Error(internal) else. `what`: the call or the kernel.
void check(cudaError_t status, const char* what);

}  // namespace lockstep::device::cuda
