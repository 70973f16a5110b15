#include "device/cuda/libraries.h"

#include "device/cuda/cuda_device.h"

namespace lockstep::device {

// Made for the first operation that needs them: both libraries take their time, and memory of the device.
cuda::Libraries& CudaDevice::libraries() {
  if (!libraries_) {
    libraries_ = std::make_unique<cuda::Libraries>(empty({cuda::MatrixProducts::workspace_bytes}, DType::u8),
                                                   stream());
  }
  return *libraries_;
}

}  // namespace lockstep::device
