// Faults on demand.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace fake_gpu {

class Faults {
 public:
  // From FAKE_GPU_FAULT.
  Faults();

  // See fault_due() in stream.h.
  bool due(const std::string& call, std::string& error);

 private:
  struct Fault {
    unsigned long call;
    std::string error;
  };

  void add(const std::string& text);

  std::mutex mutex_;
  std::multimap<std::string, Fault> faults_;  // by the call
  std::map<std::string, unsigned long> calls_;
};

// Of "slower=MILLISECONDS", by which each kernel of a name takes longer; nothing of other errors.
std::optional<std::chrono::milliseconds> delay_of(const std::string& error);

}  // namespace fake_gpu
