// Errors: names, words, which of them lose the device, the last one of each thread.
#include <utility>

#include "call.h"
#include "process.h"
#include "stream.h"

namespace fake_gpu {

namespace {

struct Description {
  cudaError_t error;
  const char* name;
  const char* words;
  bool sticky;
};

#define DESCRIBE(error, words, sticky) \
  { error, #error, words, sticky }

constexpr Description descriptions[] = {
    DESCRIBE(cudaSuccess, "no error", false),
    DESCRIBE(cudaErrorInvalidValue, "invalid argument", false),
    DESCRIBE(cudaErrorMemoryAllocation, "out of memory", false),
    DESCRIBE(cudaErrorInitializationError, "initialization error", false),
    DESCRIBE(cudaErrorInvalidConfiguration, "invalid configuration argument", false),
    DESCRIBE(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version",
             false),
    DESCRIBE(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable", true),
    DESCRIBE(cudaErrorNoDevice, "no CUDA-capable device is detected", false),
    DESCRIBE(cudaErrorInvalidDevice, "invalid device ordinal", false),
    DESCRIBE(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device",
             false),
    DESCRIBE(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain.",
             false),
    DESCRIBE(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered", true),
    DESCRIBE(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution", true),
    DESCRIBE(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error", true),
    DESCRIBE(cudaErrorInvalidResourceHandle, "invalid resource handle", false),
    DESCRIBE(cudaErrorNotReady, "device not ready", false),
    DESCRIBE(cudaErrorIllegalAddress, "an illegal memory access was encountered", true),
    DESCRIBE(cudaErrorLaunchOutOfResources, "too many resources requested for launch", false),
    DESCRIBE(cudaErrorLaunchTimeout, "the launch timed out and was terminated", true),
    DESCRIBE(cudaErrorAssert, "device-side assert triggered", true),
    DESCRIBE(cudaErrorHardwareStackError, "hardware stack error", true),
    DESCRIBE(cudaErrorIllegalInstruction, "an illegal instruction was encountered", true),
    DESCRIBE(cudaErrorMisalignedAddress, "misaligned address", true),
    DESCRIBE(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space", true),
    DESCRIBE(cudaErrorInvalidPc, "invalid program counter", true),
    DESCRIBE(cudaErrorLaunchFailure, "unspecified launch failure", true),
    DESCRIBE(cudaErrorNotSupported, "operation not supported", false),
    DESCRIBE(cudaErrorSystemNotReady, "system not yet initialized", false),
    DESCRIBE(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination",
             false),
    DESCRIBE(cudaErrorUnknown, "unknown error", true),
};

#undef DESCRIBE

const Description& description_of(cudaError_t error) {
  for (const Description& description : descriptions) {
    if (description.error == error) {
      return description;
    }
  }
  die("error " + std::to_string(error) + " is not on the list of errors.cpp");
}

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t error_named(const std::string& name) {
  for (const Description& description : descriptions) {
    if (name == description.name) {
      return description.error;
    }
  }
  die("FAKE_GPU_FAULT: no error is called '" + name + "' in the list of errors.cpp");
}

bool is_sticky(cudaError_t error) {
  return description_of(error).sticky;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) {
    last_error = error;
  }
  return error;
}

cudaError_t forget_last_error() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t call(const char* name, Needs needs, const std::function<cudaError_t(Runtime&)>& body) {
  Runtime& runtime = process().runtime;
  std::string fault;
  if (fault_due(name, fault)) {
    if (fault == "stall") {
      runtime.stall();
    } else {
      const cudaError_t error = error_named(fault);
      if (is_sticky(error)) {
        runtime.lose(error);
      }
      return remember(error);
    }
  }
  if (const cudaError_t error = runtime.lost()) {
    return remember(error);
  }
  if (needs == Needs::device) {
    if (const cudaError_t error = process().devices.use_current()) {
      return remember(error);
    }
  }
  return remember(body(runtime));
}

}  // namespace fake_gpu

using namespace fake_gpu;

cudaError_t cudaGetLastError() {
  const cudaError_t error = forget_last_error();
  const cudaError_t lost = process().runtime.lost();
  return lost != cudaSuccess ? lost : error;
}

cudaError_t cudaPeekAtLastError() {
  const cudaError_t lost = process().runtime.lost();
  return lost != cudaSuccess ? lost : last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  return description_of(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return description_of(error).words;
}
