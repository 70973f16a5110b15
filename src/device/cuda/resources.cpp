#include "device/cuda/resources.h"

#include "device/cuda/check.h"

namespace lockstep::device::cuda {

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::wait_for(cudaEvent_t event) const {
  check(cudaStreamWaitEvent(stream_, event, 0), "cudaStreamWaitEvent");
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) const {
  check(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
}

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check(status, "work that was queued before");
  return true;
}

PageLocked::PageLocked(std::size_t bytes) : bytes_(bytes) {
  check(cudaMallocHost(&address_, bytes), "cudaMallocHost");
}

PageLocked::~PageLocked() {
  cudaFreeHost(address_);
}

}  // namespace lockstep::device::cuda
