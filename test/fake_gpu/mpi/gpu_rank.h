// What each rank of these tests has: a GPU of its own, and NCCL to the others.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "comm/open_communicator.h"
#include "device/cuda/cuda_device.h"

extern "C" const lockstep::comm::DeviceCommunicators lockstep_nccl_communicators;

// The ranks of the world are on one machine: each takes the GPU of its number.
inline std::unique_ptr<lockstep::device::CudaDevice> open_gpu() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return std::make_unique<lockstep::device::CudaDevice>(rank);
}

inline std::unique_ptr<lockstep::comm::Communicator> open_nccl(
    const lockstep::comm::MpiGroup& group, lockstep::device::CudaDevice& device,
    const lockstep::comm::HostCommunicatorOptions& options = {}) {
  return lockstep_nccl_communicators.open(device, lockstep::comm::make_mpi_transport(group), options);
}
