// What the CUDA backend's library offers to comm/open_communicator.
#include "comm/nccl/nccl_communicator.h"
#include "comm/open_communicator.h"
#include "device/cuda/cuda_device.h"

namespace {

namespace comm = lockstep::comm;
namespace device = lockstep::device;

std::unique_ptr<comm::Communicator> open(device::Device& device, std::unique_ptr<comm::Transport> transport,
                                         const comm::HostCommunicatorOptions& options) {
  auto& gpu = dynamic_cast<device::CudaDevice&>(device);
  auto watch = std::make_shared<comm::nccl::Watch>(gpu);
  return std::make_unique<comm::nccl::NcclCommunicator>(std::move(watch), std::move(transport), options);
}

}  // namespace

extern "C" {
extern const comm::DeviceCommunicators lockstep_nccl_communicators;
const comm::DeviceCommunicators lockstep_nccl_communicators{&open};
}
