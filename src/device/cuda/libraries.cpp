#include "device/cuda/libraries.h"

#include "device/cuda/cuda_device.h"
#include "device/memory_use.h"

namespace lockstep::device {

namespace {

constexpr MemoryPurpose workspace_use{"cuBLASLt's work space",
                                      "use a smaller model, or a GPU with more memory"};

}  // namespace

// Made for the first operation that needs them: both libraries take their time, and memory of the device.
cuda::Libraries& CudaDevice::libraries() {
  if (!libraries_) {
    const MemoryUse use(*this, workspace_use);
    libraries_ = std::make_unique<cuda::Libraries>(empty({cuda::MatrixProducts::workspace_bytes}, DType::u8),
                                                   stream());
  }
  return *libraries_;
}

}  // namespace lockstep::device
