#include "device/cuda/event_pool.h"

#include <utility>

namespace lockstep::device::cuda {

std::unique_ptr<Event> EventPool::record(cudaStream_t stream) {
  if (idle_.empty()) idle_.push_back(std::make_unique<Event>(with_time_));
  std::unique_ptr<Event> event = std::move(idle_.back());
  idle_.pop_back();
  event->record(stream);
  return event;
}

}  // namespace lockstep::device::cuda
