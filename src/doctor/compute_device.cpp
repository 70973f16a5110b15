#include "doctor/compute_device.h"

#include <algorithm>

#include "core/clock.h"
#include "device/cpu/cpu_device.h"
#include "device/open_device.h"

namespace lockstep::doctor {

std::unique_ptr<device::Device> ComputeDevice::open() const {
  if (gpu) return device::open_gpu(*gpu, memory_share);
  return std::make_unique<device::CpuDevice>(threads);
}

double seconds_of(device::Device& device, const std::function<void()>& work, double least_seconds,
                  int most_rounds) {
  device.synchronise();
  // A GPU is given all rounds at once, as in training: it shall not wait for the next one.
  for (int rounds = 1;; rounds = std::min(2 * rounds, most_rounds)) {
    const double begin = monotonic_seconds();
    for (int round = 0; round < rounds; ++round) work();
    device.synchronise();
    const double took = monotonic_seconds() - begin;
    if (took >= least_seconds || rounds == most_rounds) return took / rounds;
  }
}

}  // namespace lockstep::doctor
