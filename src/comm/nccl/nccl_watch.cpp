#include "comm/nccl/nccl_watch.h"

#include <algorithm>
#include <utility>

#include "comm/nccl/nccl_queue.h"
#include "core/clock.h"

namespace lockstep::comm::nccl {

namespace {

constexpr double look_every_seconds = 0.05;
// Beyond what any device has. A bucket that is ready goes before more computing.
constexpr int highest_priority = -100;

}  // namespace

Watch::Watch(device::CudaDevice& device) : device_(device), stream_(highest_priority) {
  device_.set_monitor([this] { watch(); });
}

Watch::~Watch() {
  device_.set_monitor({});
}

void Watch::remove(Queue& queue) {
  std::erase(queues_, &queue);
}

void Watch::watch() {
  check();
  for (Queue* queue : queues_) queue->count_wait();
}

void Watch::check() {
  if (failure_) std::rethrow_exception(failure_);
  if (const double now = monotonic_seconds(); now >= next_look_) {
    next_look_ = now + look_every_seconds;
    look();
  }
}

void Watch::look() {
  for (Queue* queue : queues_) queue->look();
}

void Watch::fail(std::exception_ptr failure) noexcept {
  if (failure_) return;
  failure_ = std::move(failure);
  for (Queue* queue : queues_) queue->end_work();
}

}  // namespace lockstep::comm::nccl
