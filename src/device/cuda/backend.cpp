// What liblockstep_cuda.so exports to the program that loads it.
#include <fmt/format.h>

#include "core/error.h"
#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda_library.h"

namespace lockstep::device {

namespace {

int count(std::string& reason) {
  int found = 0;
  const cudaError_t status = cudaGetDeviceCount(&found);
  if (status == cudaSuccess && found > 0) return found;
  reason = fmt::format("no GPU: {}", cudaGetErrorString(status));
  cudaGetLastError();
  return 0;
}

std::unique_ptr<Device> open(const DeviceRequest& request) {
  std::string reason;
  const int found = count(reason);
  if (request.local_size > found && found > 1) {
    throw Error(ExitCode::bad_config,
                fmt::format("{} ranks on this node and {} GPUs", request.local_size, found));
  }
  return std::make_unique<CudaDevice>(found == 1 ? 0 : request.local_rank);
}

}  // namespace

}  // namespace lockstep::device

extern "C" const lockstep::device::CudaBackend lockstep_cuda_backend{
    LOCKSTEP_VERSION, lockstep::device::count, lockstep::device::open};
