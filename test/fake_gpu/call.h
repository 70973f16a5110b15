// What all stand-ins for calls of the CUDA runtime have in common.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "runtime.h"

namespace fake_gpu {

enum class Needs { nothing, device };

// Returns the injected fault of this call, the error of a device that is lost, or of one that cannot be used;
// else what `body` returns. It becomes the thread's last error.
cudaError_t call(const char* name, Needs needs, const std::function<cudaError_t(Runtime&)>& body);

// Notes an error as the thread's last one, and returns it.
cudaError_t remember(cudaError_t error);
// As cudaGetLastError, without the error of a device that is lost.
cudaError_t forget_last_error();

// Dies where there is no error of this name.
cudaError_t error_named(const std::string& name);
// Once such an error has come, every call returns it.
bool is_sticky(cudaError_t error);

}  // namespace fake_gpu
