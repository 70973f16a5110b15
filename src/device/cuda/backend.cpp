// What liblockstep_cuda.so exports to the program that loads it.
#include <memory>

#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"
#include "device/cuda_library.h"

namespace {

std::unique_ptr<lockstep::device::Device> open(int place, double memory_share) {
  return std::make_unique<lockstep::device::CudaDevice>(place, memory_share);
}

}  // namespace

extern "C" const lockstep::device::CudaBackend lockstep_cuda_backend{LOCKSTEP_VERSION,
                                                                     lockstep::device::cuda::find_gpus, open};
