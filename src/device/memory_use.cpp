#include "device/memory_use.h"

#include "device/device.h"

namespace lockstep::device {

MemoryUse::MemoryUse(Device& device, const MemoryPurpose& purpose)
    : device_(device), before_(device.pool().set_purpose(&purpose)) {}

MemoryUse::~MemoryUse() {
  device_.pool().set_purpose(before_);
}

}  // namespace lockstep::device
