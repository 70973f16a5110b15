#include "device/cuda/resources.h"

#include "device/cuda/check.h"

namespace lockstep::device::cuda {

Stream::Stream(int priority) {
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
        "cudaStreamCreateWithPriority");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::wait_for(cudaEvent_t event) const {
  check(cudaStreamWaitEvent(stream_, event, 0), "cudaStreamWaitEvent");
}

Event::Event(bool with_time) {
  check(cudaEventCreateWithFlags(&event_, with_time ? cudaEventDefault : cudaEventDisableTiming),
        "cudaEventCreateWithFlags");
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(cudaStream_t stream) const {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}

bool Event::done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // it counts as an error, and the next launch would report it
    return false;
  }
  check(status, "work that was queued before");
  return true;
}

double Event::seconds_since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

PageLocked::PageLocked(std::size_t bytes) : bytes_(bytes) {
  check(cudaMallocHost(&address_, bytes), "cudaMallocHost");
}

PageLocked::~PageLocked() {
  cudaFreeHost(address_);
}

}  // namespace lockstep::device::cuda
