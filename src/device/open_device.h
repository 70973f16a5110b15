// Which device this process computes on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/device.h"

namespace lockstep::device {

struct DeviceRequest {
  std::string kind = "auto";  // cpu, cuda, or auto: cuda where there is a GPU for this rank
  int threads = 1;            // of a CPU
  int local_rank = 0;         // this process among those of the run on its node
  int local_size = 1;
};

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string note;  // why auto took the CPU, for the log; else empty
};

// Throws Error(bad_config) in words where the device cannot be had: nothing is allocated then.
OpenedDevice open_device(const DeviceRequest& request);

}  // namespace lockstep::device
