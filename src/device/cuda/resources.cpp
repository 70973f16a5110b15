#include "device/cuda/resources.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
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
  const cudaError_t status = cudaMallocHost(&address_, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the next launch would report it
    throw Error(
        ExitCode::bad_config,
        fmt::format("{} of the host's memory cannot be page-locked for copies to and from the GPU: ask "
                    "Slurm for more memory (--mem), put fewer ranks on the node, or have the limit of "
                    "locked memory raised (ulimit -l)",
                    human_bytes(static_cast<double>(bytes))));
  }
  check(status, "cudaMallocHost");
}

PageLocked::~PageLocked() {
  cudaFreeHost(address_);
}

}  // namespace lockstep::device::cuda
