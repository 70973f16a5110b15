// The thread that does what was queued: the fake GPU's processor.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "emulated_kernels.h"
#include "protection.h"

namespace fake_gpu {

struct Work {
  std::function<bool()> poll;       // true: done
  std::vector<Access> overwritten;  // filled with garbage before the first poll
  cudaError_t error = cudaSuccess;  // else: instead of being done, it loses the device
};

// Of a stream. Work is done in its order, the first being number 1.
struct Queue {
  std::deque<Work> waiting;
  std::uint64_t queued = 0;
  std::uint64_t done = 0;
  std::uint64_t doable = 0;  // what was queued later is stalled
};

class DeviceThread {
 public:
  // `mutex` guards the queues and is not held while work is done. It is held by whoever calls a member.
  DeviceThread(std::mutex& mutex, Protection& protection);
  ~DeviceThread();
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;

  Queue& add_queue();  // lives as long as the thread
  void queue(Queue& queue, Work work);
  // What is queued from now on is never begun.
  void stall() { stalled_ = true; }
  // The device is lost: nothing is done any more.
  void lose(cudaError_t error);
  cudaError_t lost() const { return lost_; }

  // Returns when the condition, which progress of the queues makes true, is true, or the device is lost.
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition);
  // The same, for a moment: whoever asks again and again need not keep a processor busy.
  bool wait_a_moment(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition);

 private:
  enum class Turn { nothing_to_do, not_done, done };

  void run();
  bool anything_to_do() const;
  Turn take_turn(std::unique_lock<std::mutex>& lock, Queue& queue);

  std::mutex& mutex_;
  Protection& protection_;
  const bool reverse_;
  std::vector<std::unique_ptr<Queue>> queues_;
  bool stalled_ = false;
  bool stop_ = false;
  cudaError_t lost_ = cudaSuccess;
  std::condition_variable new_work_;
  std::condition_variable progress_;
  std::thread thread_;
};

}  // namespace fake_gpu
