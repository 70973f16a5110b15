#include "device_thread.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "memory.h"
#include "settings.h"

namespace fake_gpu {

namespace {

using std::chrono::microseconds;

// Between two looks at work that waits for other processes.
constexpr microseconds shortest_pause{20};
constexpr microseconds longest_pause{500};

}  // namespace

DeviceThread::DeviceThread(std::mutex& mutex, Protection& protection)
    : mutex_(mutex), protection_(protection), reverse_(reverse_order()), thread_(&DeviceThread::run, this) {}

DeviceThread::~DeviceThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  new_work_.notify_all();
  thread_.join();
}

Queue& DeviceThread::add_queue() {
  return *queues_.emplace_back(std::make_unique<Queue>());
}

void DeviceThread::queue(Queue& queue, Work work) {
  queue.waiting.push_back(std::move(work));
  ++queue.queued;
  if (!stalled_) {
    queue.doable = queue.queued;
  }
  new_work_.notify_all();
}

void DeviceThread::lose(cudaError_t error) {
  lost_ = error;
  progress_.notify_all();
}

void DeviceThread::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition) {
  progress_.wait(lock, [&] { return lost_ != cudaSuccess || condition(); });
}

bool DeviceThread::wait_a_moment(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition) {
  progress_.wait_for(lock, longest_pause, [&] { return lost_ != cudaSuccess || condition(); });
  return condition();
}

bool DeviceThread::anything_to_do() const {
  return lost_ == cudaSuccess && std::any_of(queues_.begin(), queues_.end(),
                                             [](const auto& queue) { return queue->done < queue->doable; });
}

DeviceThread::Turn DeviceThread::take_turn(std::unique_lock<std::mutex>& lock, Queue& queue) {
  if (queue.done == queue.doable || lost_ != cudaSuccess) {
    return Turn::nothing_to_do;
  }
  Work& work = queue.waiting.front();
  if (work.error != cudaSuccess) {
    lose(work.error);
    return Turn::nothing_to_do;
  }
  protection_.device_works();
  lock.unlock();
  for (const Access& access : std::exchange(work.overwritten, {})) {
    std::memset(const_cast<void*>(access.address), garbage, access.bytes);
  }
  const bool done = work.poll();
  if (done) {
    work.poll = nullptr;  // what it held may take its time to go
  }
  lock.lock();
  if (!done) {
    return Turn::not_done;
  }
  queue.waiting.pop_front();
  ++queue.done;
  progress_.notify_all();
  return Turn::done;
}

void DeviceThread::run() {
  protection_.device_thread_starts();
  std::unique_lock lock(mutex_);
  microseconds pause = shortest_pause;
  while (!stop_) {
    bool progress = false;
    bool waiting = false;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      const Turn turn = take_turn(lock, *queues_[reverse_ ? queues_.size() - 1 - i : i]);
      progress = progress || turn == Turn::done;
      waiting = waiting || turn == Turn::not_done;
    }
    if (!progress || !anything_to_do()) {
      protection_.device_rests();
    }
    if (progress) {
      pause = shortest_pause;
    } else if (waiting) {
      new_work_.wait_for(lock, pause);
      pause = std::min(2 * pause, longest_pause);
    } else {
      new_work_.wait(lock, [this] { return stop_ || anything_to_do(); });
    }
  }
}

}  // namespace fake_gpu
