// The communicator for tensors on GPUs: NCCL's, from the CUDA backend (device/cuda_library.h).
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/mpi_group.h"
#include "device/device.h"

namespace lockstep::comm {

// What the backend exports as `lockstep_nccl_backend`.
struct NcclBackend {
  std::unique_ptr<Communicator> (*open)(const MpiGroup& ranks, device::Device& device, double limit_seconds);
};

// Collective. `ranks` brings the ranks together and tells who is missing; `device`, a GPU, must outlive the
// communicator. limit_seconds: for each call, from its beginning.
std::unique_ptr<Communicator> open_device_communicator(const MpiGroup& ranks, device::Device& device,
                                                       double limit_seconds);

}  // namespace lockstep::comm
