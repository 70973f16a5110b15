#include "comm/open_communicator.h"

#include "comm/mpi_transport.h"
#include "device/cuda_library.h"

namespace lockstep::comm {

std::unique_ptr<Communicator> open_device_communicator(const MpiGroup& ranks, device::Device& device,
                                                       const HostCommunicatorOptions& options) {
  const device::CudaLibrary library;
  const auto* exported = static_cast<const DeviceCommunicators*>(library.find("lockstep_nccl_communicators"));
  return exported->open(device, make_mpi_transport(ranks), options);
}

}  // namespace lockstep::comm
