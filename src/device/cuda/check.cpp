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

std::string no_machine_code() {
  int place = 0;
  cudaDeviceProp properties{};
  cudaGetDevice(&place);
  cudaGetDeviceProperties(&properties, place);
  return fmt::format(
      "this Lockstep is built for the architectures {}, and the GPU ({}) is an sm_{}{}: build it with "
      "CUDA_ARCHS={}{}",
      LOCKSTEP_CUDA_ARCHS, static_cast<const char*>(properties.name), properties.major, properties.minor,
      properties.major, properties.minor);
}

// What is the machine's fault is 76: the job is requeued, on another node if the site drains this one.
Verdict verdict(cudaError_t status) {
  const std::string lost =
      "the GPU is lost for this process; the kernel's log has more (dmesg, lines with Xid)";
  switch (status) {
    case cudaErrorMemoryAllocation:
      return {ExitCode::bad_config, "the memory of the GPU or page-locked memory of the host is exhausted"};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return {ExitCode::bad_config, no_machine_code()};
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
  const Verdict found = verdict(status);
  throw Error(found.code,
              fmt::format("{} failed: {} ({}){}{}", what, cudaGetErrorString(status),
                          cudaGetErrorName(status), found.advice.empty() ? "" : ": ", found.advice));
}

}  // namespace lockstep::device::cuda
