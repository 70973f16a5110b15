// Turns the error codes of cuBLASLt and cuDNN into errors in words.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#include <string>
#include <string_view>

namespace lockstep::device::cuda {

// Throw where `status` is no success: what check() of check.h throws if the device itself has failed before,
// else Error(internal). `call` for `subject` is what failed.
void cublas_check(cublasStatus_t status, const char* call, std::string_view subject = {});
void cudnn_check(cudnnStatus_t status, const char* call, std::string_view subject = {});
[[noreturn]] void library_failed(const char* call, std::string_view subject, const std::string& why);

// The status's name and what cuDNN has to say of this thread's last error, which it then forgets.
std::string cudnn_words(cudnnStatus_t status);

}  // namespace lockstep::device::cuda
