// Events that are used again and again: to make one is a call of the driver's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/cuda/resources.h"

namespace lockstep::device::cuda {

class EventPool {
 public:
  explicit EventPool(bool with_time) : with_time_(with_time) {}

  // An event at the end of what the stream was given so far.
  std::unique_ptr<Event> record(cudaStream_t stream);
  void give_back(std::unique_ptr<Event> event) { idle_.push_back(std::move(event)); }

 private:
  bool with_time_;
  std::vector<std::unique_ptr<Event>> idle_;
};

}  // namespace lockstep::device::cuda
