#include "comm/open_communicator.h"

#include "device/cuda_library.h"

namespace lockstep::comm {

std::unique_ptr<Communicator> open_device_communicator(const MpiGroup& ranks, device::Device& device,
                                                       double limit_seconds) {
  const void* backend = device::CudaLibrary().find("lockstep_nccl_backend");
  return static_cast<const NcclBackend*>(backend)->open(ranks, device, limit_seconds);
}

}  // namespace lockstep::comm
