// A caller who waits for peers, as a watcher in another thread counts it (Transport::waits()).
#pragma once

#include <atomic>

namespace lockstep::comm {

// Counts as one wait while it lives.
class WaitCount {
 public:
  explicit WaitCount(std::atomic<int>& waits) : waits_(waits) { ++waits_; }
  ~WaitCount() { --waits_; }
  WaitCount(const WaitCount&) = delete;
  WaitCount& operator=(const WaitCount&) = delete;

 private:
  std::atomic<int>& waits_;
};

}  // namespace lockstep::comm
