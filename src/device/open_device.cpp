#include "device/open_device.h"

#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "device/cuda_library.h"

namespace lockstep::device {

namespace {

// Looked at first: NVIDIA's libraries are half a gigabyte, too much to load in order to hear that there is no
// GPU.
bool has_driver() {
  const char* library = std::getenv("LOCKSTEP_CUDA_LIBRARY");
  return std::filesystem::exists("/dev/nvidiactl") || (library != nullptr && *library != '\0');
}

}  // namespace

FoundGpus find_gpus(const std::string& kind) {
  const bool wanted = kind == "cuda";
  if (kind == "cpu" || (!wanted && !has_driver())) return {};
  FoundGpus found;
  try {
    found.gpus = CudaLibrary().backend().gpus(found.reason);
  } catch (const Error& error) {
    found.reason = error.what();
  }
  if (wanted && found.gpus.empty()) throw Error(ExitCode::bad_config, "train.device = cuda: " + found.reason);
  return found;
}

std::unique_ptr<Device> open_gpu(int place, double memory_share) {
  return CudaLibrary().backend().open(place, memory_share);
}

}  // namespace lockstep::device
