// What a rank computes on: training's own choice, made by the device probe.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "device/device.h"

namespace lockstep::doctor {

struct ComputeDevice {
  std::optional<int> gpu;     // its place among those that this process sees; none: the CPU
  int threads = 1;            // of a CPU
  double memory_share = 0.9;  // of what is free on a GPU

  // In the thread that is to use it. Throws Error(bad_config) where the GPU cannot be used.
  std::unique_ptr<device::Device> open() const;
};

// Seconds that `work` takes on the device, called again and again for about `least_seconds`, or `most_rounds`
// times. It has been called before.
double seconds_of(device::Device& device, const std::function<void()>& work, double least_seconds,
                  int most_rounds);

}  // namespace lockstep::doctor
