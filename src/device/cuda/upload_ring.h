// Page-locked memory that uploads go through: the host's data are copied here, and the device fetches them in
// its own time.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/cuda/resources.h"

namespace lockstep::device::cuda {

using WaitForEvent = std::function<void(const Event&)>;

class UploadRing {
 public:
  // The memory is allocated for the first upload. `wait`: how to wait where the ring is full.
  UploadRing(std::size_t bytes, WaitForEvent wait);

  // Queues a copy; the source is free when this returns. Copies of several streams may be under way. All of
  // them must be done before the ring goes.
  void copy(const void* host, std::size_t bytes, void* address, const Stream& stream);

 private:
  struct Part {  // of the ring
    std::size_t begin;
    std::unique_ptr<Event> fetched;
  };

  // Where there is room for `bytes`, at most a quarter of the ring.
  std::size_t make_room(std::size_t bytes);
  // Nothing where the parts under way are in the way.
  bool fits(std::size_t bytes, std::size_t& begin) const;
  void take_back_oldest();

  std::size_t bytes_;
  WaitForEvent wait_;
  std::unique_ptr<PageLocked> memory_;
  std::deque<Part> under_way_;  // in the order of the calls
  std::size_t end_ = 0;         // of the newest part
  std::vector<std::unique_ptr<Event>> spare_;
};

}  // namespace lockstep::device::cuda
