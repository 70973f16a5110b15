// Where batches arrive on the device before they are needed: copied on a stream of their own, beside what the
// operations' stream is at work on.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "device/cuda/resources.h"
#include "device/cuda/timeline.h"
#include "device/cuda/upload_ring.h"
#include "device/device.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

class Inbox : public std::enable_shared_from_this<Inbox> {
 public:
  // `compute`: where tensors are used; it and the timeline outlive this.
  Inbox(Device& device, const Stream& compute, Timeline& timeline, WaitForEvent wait);
  // Waits for copies under way.
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  Tensor send(const void* host, const Shape& shape, DType dtype);
  // What is queued from now on for `compute` waits for the tensor, which send() has returned.
  void receive(const Tensor& sent);

 private:
  // One tensor's memory, used again for another one when what was queued with it is done.
  struct Slot {
    Tensor memory;   // u8
    Event arrived;   // on copies_
    Event released;  // on compute_
    bool idle = true;
    bool received = false;
  };

  Slot& idle_slot(std::size_t bytes);
  void release(Slot& slot) noexcept;

  Device& device_;
  const Stream& compute_;
  Timeline& timeline_;
  Stream copies_;
  UploadRing ring_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace lockstep::device::cuda
