// Which device this process computes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/gpu.h"

namespace lockstep::device {

// The GPUs that this process may use, in CUDA's order; where there are none, the reason in words.
struct FoundGpus {
  std::vector<Gpu> gpus;
  std::string reason;
};

// `kind`: auto, cpu or cuda. For cuda it throws Error(bad_config) where there is none, for auto it does not:
// then nothing is loaded on a node without a driver, and cpu finds none at all.
FoundGpus find_gpus(const std::string& kind);

// `place`: in what find_gpus() has found. `memory_share`: of the GPU's free memory, to take. Throws
// Error(bad_config) in words where it cannot be used.
std::unique_ptr<Device> open_gpu(int place, double memory_share);

}  // namespace lockstep::device
