// Faults on demand.
#pragma once

#include <map>
#include <mutex>
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

}  // namespace fake_gpu
