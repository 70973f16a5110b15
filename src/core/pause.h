#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace lockstep {

// Sleeps for the time, or until a stop is requested: for threads that look at something now and then.
inline void pause_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock guard(mutex);
  wake.wait_for(guard, stop, time, [] { return false; });
}

}  // namespace lockstep
