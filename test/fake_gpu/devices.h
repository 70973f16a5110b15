// The fake GPUs of this machine, as the environment describes them.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fake_gpu {

class Devices {
 public:
  Devices();

  cudaError_t count(int& count) const;
  int driver_version() const { return driver_; }
  bool exclusive() const { return exclusive_; }
  bool mig() const { return mig_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  // Of the GPU that this process sees under this number; the number must be below count().
  int bus(int device) const;
  std::string uuid(int device) const;

  // The calling thread's device.
  int current() const;
  cudaError_t set_current(int device);
  // From the first use on it is this process's own, where GPUs are exclusive.
  cudaError_t use_current();

 private:
  int driver_;
  bool exclusive_;
  bool mig_;
  int major_;
  int minor_;
  std::vector<int> visible_;  // GPUs by their number on the machine
  std::mutex mutex_;
  std::set<int> owned_;
};

}  // namespace fake_gpu
