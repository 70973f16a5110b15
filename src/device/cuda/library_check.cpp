#include "device/cuda/library_check.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <string>

#include "core/error.h"
#include "device/cuda/check.h"

namespace lockstep::device::cuda {

void library_failed(const char* call, std::string_view subject, const std::string& why) {
  const std::string what = subject.empty() ? std::string(call) : fmt::format("{} for {}", call, subject);
  // What the libraries say of a device that is lost is that their own call failed.
  check(cudaGetLastError(), what.c_str());
  throw Error(ExitCode::internal, fmt::format("{} failed: {}", what, why));
}

void cublas_check(cublasStatus_t status, const char* call, std::string_view subject) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const char* name = cublasLtGetStatusName(status);
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      library_failed(
          call, subject,
          fmt::format("cuBLASLt found no memory for itself ({}); a smaller train.micro_batch leaves more",
                      name));
    case CUBLAS_STATUS_ARCH_MISMATCH:
      library_failed(call, subject,
                     fmt::format("cuBLASLt does not know this GPU ({}); install a newer one", name));
    case CUBLAS_STATUS_NOT_SUPPORTED:
      library_failed(call, subject,
                     fmt::format("cuBLASLt has no kernel for this product on this GPU ({})", name));
    case CUBLAS_STATUS_EXECUTION_FAILED:
      library_failed(call, subject, fmt::format("the GPU could not run it ({})", name));
    default:
      library_failed(call, subject, name);
  }
}

std::string cudnn_words(cudnnStatus_t status) {
  std::array<char, 512> details{};
  cudnnGetLastErrorString(details.data(), details.size());
  const std::string said = details[0] == '\0' ? std::string() : fmt::format(": {}", details.data());
  return cudnnGetErrorString(status) + said;
}

void cudnn_check(cudnnStatus_t status, const char* call, std::string_view subject) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  library_failed(call, subject, "cuDNN says " + cudnn_words(status));
}

}  // namespace lockstep::device::cuda
