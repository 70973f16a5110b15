#pragma once

#include <chrono>

namespace lockstep {

// Seconds of a clock that never goes back; only differences mean something.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since 1970 (UTC), for what people and Slurm compare between machines.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
