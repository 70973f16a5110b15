// Copies from the device to memory of the host that is not page-locked.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "device/cuda/resources.h"
#include "device/cuda/upload_ring.h"

namespace lockstep::device::cuda {

class Downloads {
 public:
  explicit Downloads(WaitForEvent wait);

  // Comes back when `host` has the data. While the device fills one half of the page-locked memory, the other
  // is copied out.
  void copy(const void* address, std::size_t bytes, void* host, const Stream& stream);

 private:
  struct Half {
    PageLocked memory;
    Event filled;
  };

  WaitForEvent wait_;
  std::array<std::unique_ptr<Half>, 2> halves_;  // made when they are needed
};

}  // namespace lockstep::device::cuda
