// What a device's memory is used for, so that an error can tell when it is exhausted.
#pragma once

#include <string_view>

namespace lockstep::device {

class Device;

// Constants: whoever has memory refers to them to the end.
struct MemoryPurpose {
  std::string_view name;    // "activations of a micro-batch"
  std::string_view remedy;  // what to do where there is not enough for it: "use a smaller train.micro_batch"
};

// What the device's tensors made in this scope are for. Scopes nest.
class MemoryUse {
 public:
  MemoryUse(Device& device, const MemoryPurpose& purpose);
  ~MemoryUse();
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;

 private:
  Device& device_;
  const MemoryPurpose* before_;
};

}  // namespace lockstep::device
