// Turns the error codes of cuBLASLt and cuDNN into errors in words.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include <string_view>

namespace lockstep::device::cuda {

// Throw where `status` is no success: what check() of check.h throws if the device itself has failed before,
// else Error(internal). `call` for `subject` is what failed.
void cublas_check(cublasStatus_t status, const char* call, std::string_view subject = {});
void cudnn_check(cudnnStatus_t status, const char* call, std::string_view subject = {});

}  // namespace lockstep::device::cuda
