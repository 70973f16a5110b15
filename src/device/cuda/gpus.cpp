#include "device/cuda/gpus.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "device/cuda/check.h"
#include "device/cuda/trial_kernel.h"

namespace lockstep::device::cuda {

namespace {

std::string visible_devices() {
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  return given == nullptr ? std::string() : given;
}

std::string why_none(cudaError_t status) {
  int driver = 0;
  int runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) {
    return "this node has no NVIDIA driver: run on a node with GPUs, or set train.device = cpu";
  }
  if (status == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver of this node is made for CUDA {}, and this Lockstep for CUDA {}: update the "
        "driver, or build Lockstep with CUDA {}",
        version_text(driver), version_text(runtime), driver / 1000);
  }
  if (status == cudaErrorNoDevice) {
    const bool hidden = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
    return fmt::format(
        "CUDA sees no GPU{}: ask Slurm for them (--gpus-per-node, --gres=gpu:N), or set train.device = "
        "cpu",
        hidden ? fmt::format(" (CUDA_VISIBLE_DEVICES is '{}')", visible_devices()) : "");
  }
  return fmt::format("CUDA cannot count the GPUs: {} ({})", cudaGetErrorString(status),
                     cudaGetErrorName(status));
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// What is visible by the name of a MIG instance is known by that: all instances of a GPU may have the GPU's
// number.
std::string id_of(int place, const cudaUUID_t& uuid) {
  const auto names = split(visible_devices(), ',');
  const auto at = static_cast<std::size_t>(place);
  return at < names.size() && names[at].starts_with("MIG-") ? names[at] : uuid_text(uuid);
}

}  // namespace

std::string pci_address(int place) {
  std::array<char, 32> address{};
  check(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), place),
        "cudaDeviceGetPCIBusId");
  std::string lower = address.data();
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

std::vector<Gpu> find_gpus(std::string& reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();  // it is no other call's
    reason = why_none(status == cudaSuccess ? cudaErrorNoDevice : status);
    return {};
  }
  std::vector<Gpu> gpus;
  for (int place = 0; place < count; ++place) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, place), "cudaGetDeviceProperties");
    gpus.push_back({id_of(place, properties.uuid), pci_address(place),
                    fmt::format("{} sm_{}{}", static_cast<const char*>(properties.name), properties.major,
                                properties.minor)});
  }
  return gpus;
}

void use_gpu(int place) {
  const cudaError_t status = cudaSetDevice(place);
  if (status == cudaErrorDevicesUnavailable) {
    throw Error(
        ExitCode::internal,
        fmt::format("GPU {} of those that this process sees is taken: it is in exclusive mode and another "
                    "process uses it, or it is out of order; see nvidia-smi",
                    place));
  }
  check(status, "cudaSetDevice");
  run_trial_kernel();
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace lockstep::device::cuda
