// What the NCCL communicators of a device have in common: the stream, and the eye on what is under way.
//
// A device that waits for itself waits for NCCL's kernels too, and those wait for other ranks, for ever where
// one does not come. So the device calls check() while it waits. Where one communicator fails, all end: their
// work shares the device, and none of it would be waited for.
#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/resources.h"

namespace lockstep::comm::nccl {

class Queue;

// One for a device at a time.
class Watch {
 public:
  // The device must outlive the watch.
  explicit Watch(device::CudaDevice& device);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void add(Queue& queue) { queues_.push_back(&queue); }
  void remove(Queue& queue);

  device::CudaDevice& device() { return device_; }
  // Of the device's operations.
  cudaStream_t compute() const { return device_.stream(); }
  const device::cuda::Stream& stream() const { return stream_; }

  // Throws what went wrong, once and for all; looks for it now and then.
  void check();
  // Ends the work of all communicators.
  void fail(std::exception_ptr failure) noexcept;
  bool failed() const { return failure_ != nullptr; }

 private:
  void watch();  // while somebody waits for the device, and once when it is done
  void look();

  device::CudaDevice& device_;
  device::cuda::Stream stream_;
  std::vector<Queue*> queues_;
  double next_look_ = 0;
  std::exception_ptr failure_;
};

}  // namespace lockstep::comm::nccl
