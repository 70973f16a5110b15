#include "device/open_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda_library.h"

namespace lockstep::device {

namespace {

OpenedDevice open_cpu(const DeviceRequest& request, std::string note) {
  return {std::make_unique<CpuDevice>(request.threads), std::move(note)};
}

// Looked at first: NVIDIA's libraries are half a gigabyte, too much to load in order to hear that there is no
// GPU.
bool has_driver() {
  return std::filesystem::exists("/dev/nvidiactl") || std::getenv("LOCKSTEP_CUDA_LIBRARY") != nullptr;
}

}  // namespace

OpenedDevice open_device(const DeviceRequest& request) {
  if (request.kind == "cpu") return open_cpu(request, {});
  if (request.kind == "auto" && !has_driver()) return open_cpu(request, {});
  const bool wanted = request.kind == "cuda";
  try {
    const CudaLibrary library;
    std::string reason;
    if (library.backend().count(reason) > 0) return {library.backend().open(request), {}};
    if (wanted) throw Error(ExitCode::bad_config, "train.device = cuda: " + reason);
    return open_cpu(request, reason);
  } catch (const Error& error) {
    if (wanted) throw;
    return open_cpu(request, error.what());
  }
}

}  // namespace lockstep::device
