// Owners of what the CUDA runtime hands out. All throw what check() throws.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace lockstep::device::cuda {

// A stream that waits for no other: the legacy stream is never used.
class Stream {
 public:
  // Of two streams whose work is ready, the one with the lower number goes first; beyond what the device has
  // is the next that it has.
  explicit Stream(int priority = 0);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  // What is queued here from now on waits for the event.
  void wait_for(cudaEvent_t event) const;

 private:
  cudaStream_t stream_ = nullptr;
};

// A place in a stream, and when the device came there if it is asked for.
class Event {
 public:
  explicit Event(bool with_time = false);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { record(stream.get()); }
  void record(cudaStream_t stream) const;
  // Whether all that was queued before it is done.
  bool done() const;
  // From an earlier event to this one; both with times, and done. To half a microsecond where less than a few
  // seconds lie between them.
  double seconds_since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

// Memory of the host that the device copies from and to by itself.
class PageLocked {
 public:
  explicit PageLocked(std::size_t bytes);
  ~PageLocked();
  PageLocked(const PageLocked&) = delete;
  PageLocked& operator=(const PageLocked&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(address_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_;
};

}  // namespace lockstep::device::cuda
