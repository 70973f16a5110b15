#include "comm/open_communicator.h"

#include "comm/mpi_transport.h"
#include "device/cuda_library.h"

namespace lockstep::comm {

std::unique_ptr<Communicator> open_device_communicator(const MpiGroup& ranks, device::Device& device,
                                                       double limit_seconds) {
  const device::CudaLibrary library;
  const auto* exported = static_cast<const DeviceCommunicators*>(library.find("lockstep_nccl_communicators"));
  HostCommunicatorOptions options;
  options.limit_seconds = limit_seconds;
  return exported->open(device, make_mpi_transport(ranks), options);
}

}  // namespace lockstep::comm
