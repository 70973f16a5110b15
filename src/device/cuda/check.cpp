#include "device/cuda/check.h"

#include <fmt/format.h>

#include <string>

#include "core/error.h"

namespace lockstep::device::cuda {

namespace {

struct Verdict {
  ExitCode code;
  std::string advice;
};

// bf16 products begin with these: what is older has never been tried, and CUDA 13 knows little of it.
constexpr int oldest_major = 8;

std::string no_machine_code(bool ptx_too_new) {
  int place = 0;
  cudaDeviceProp properties{};
  cudaGetDevice(&place);
  const bool known = cudaGetDeviceProperties(&properties, place) == cudaSuccess;
  const std::string gpu =
      fmt::format("{}, compute capability {}.{}", static_cast<const char*>(properties.name), properties.major,
                  properties.minor);
  if (known && properties.major < oldest_major) {
    return fmt::format(
        "the GPU ({}) is too old: Lockstep needs compute capability {}.0 (A100) or later; use another GPU, "
        "or set train.device = cpu",
        gpu, oldest_major);
  }
  return fmt::format(
      "this Lockstep has no machine code for the GPU ({}): it was built for {}{} build it with "
      "CUDA_ARCHS=\"{}{} {}\"",
      gpu, LOCKSTEP_CUDA_ARCHS,
      ptx_too_new ? ", and the driver is too old for its PTX: update the driver, or" : ";", properties.major,
      properties.minor, LOCKSTEP_CUDA_ARCHS);
}

// What is the machine's fault is 76: the job is requeued, on another node if the site drains this one.
Verdict verdict(cudaError_t status) {
  const std::string lost =
      "the GPU is lost for this process; the kernel's log has more (dmesg, lines with Xid)";
  switch (status) {
    case cudaErrorMemoryAllocation:
      return {ExitCode::bad_config, "the memory of the GPU or page-locked memory of the host is exhausted"};
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorDevicesUnavailable:
    case cudaErrorLaunchTimeout:
    case cudaErrorUnknown:
      return {ExitCode::peer_failed, lost};
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorAssert:
    case cudaErrorLaunchFailure:
      return {ExitCode::internal, lost};
    default:
      return {ExitCode::internal, {}};
  }
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  // Whichever kernel comes first: its name would only confuse.
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorUnsupportedPtxVersion) {
    throw Error(ExitCode::bad_config, no_machine_code(status == cudaErrorUnsupportedPtxVersion));
  }
  const Verdict found = verdict(status);
  throw Error(found.code,
              fmt::format("{} failed: {} ({}){}{}", what, cudaGetErrorString(status),
                          cudaGetErrorName(status), found.advice.empty() ? "" : ": ", found.advice));
}

}  // namespace lockstep::device::cuda
