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
  const auto timed = [&](int rounds) {
    device.synchronise();
    const double begin = monotonic_seconds();
    for (int round = 0; round < rounds; ++round) work();
    device.synchronise();
    return (monotonic_seconds() - begin) / rounds;
  };
  const double once = timed(1);
  if (once >= least_seconds || most_rounds == 1) return once;
  // A GPU is given all rounds at once, as in training: it shall not wait for the next one.
  return timed(static_cast<int>(std::clamp(least_seconds / std::max(once, 1e-6), 1., double(most_rounds))));
}

}  // namespace lockstep::doctor
