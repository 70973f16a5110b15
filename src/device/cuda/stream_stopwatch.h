// What a stream waits for between two of its places: events with times at both, read when they are done.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <memory>

#include "device/cuda/event_pool.h"
#include "device/stopwatch.h"

namespace lockstep::device::cuda {

// Its own faults end it and nothing else: who waits for the device hears of the device's.
class StreamStopwatch final : public Stopwatch {
 public:
  explicit StreamStopwatch(cudaStream_t stream) : stream_(stream) {}

  void start() noexcept override;
  void stop() noexcept override;
  void restart() noexcept override;
  double seconds() noexcept override;

 private:
  struct Stretch {
    std::unique_ptr<Event> begin;
    std::unique_ptr<Event> end;  // null while it is open
  };

  void forget(Stretch& stretch);
  template <typename Step>
  void attempt(const Step& step) noexcept;

  cudaStream_t stream_;
  bool failed_ = false;
  EventPool events_{true};
  std::deque<Stretch> stretches_;  // not yet in the sum
  double sum_ = 0;
};

}  // namespace lockstep::device::cuda
