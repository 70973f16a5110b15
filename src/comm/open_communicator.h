// Communicators for tensors that are not in the host's memory, which a device's library brings along.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/transport.h"
#include "device/device.h"

namespace lockstep::comm {

// What the CUDA backend exports as `lockstep_nccl_communicators`.
struct DeviceCommunicators {
  std::unique_ptr<Communicator> (*open)(device::Device& device, std::unique_ptr<Transport> transport,
                                        const HostCommunicatorOptions& options);
};

// For tensors of this device, which is not the CPU. Collective. At most one at a time for a device, and its
// duplicates; the device must outlive them.
std::unique_ptr<Communicator> open_device_communicator(const MpiGroup& ranks, device::Device& device,
                                                       const HostCommunicatorOptions& options);

}  // namespace lockstep::comm
