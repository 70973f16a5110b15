// The memory of a GPU that a process takes for its tensors.
#pragma once

#include <memory>

#include "device/pool.h"

namespace lockstep::device::cuda {

// Takes `share` of the current device's free memory in one allocation, and divides it. Throws
// Error(bad_config) where that much cannot be had.
std::shared_ptr<Pool> make_device_pool(double share);

}  // namespace lockstep::device::cuda
