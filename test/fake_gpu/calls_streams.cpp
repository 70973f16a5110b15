// Stand-ins for the CUDA runtime's calls about streams and events.
#include "call.h"
#include "process.h"
#include "stream.h"

namespace {

using fake_gpu::call;
using fake_gpu::die;
using fake_gpu::Needs;
using fake_gpu::process;
using fake_gpu::Runtime;

cudaError_t create(Runtime& runtime, cudaStream_t* stream, unsigned flags, const char* name) {
  if (flags != cudaStreamNonBlocking) {
    die(std::string(name) +
        ": only cudaStreamNonBlocking is on the list: the legacy stream would wait for others");
  }
  *stream = runtime.create_stream(process().devices.current());
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const char* const name = "cudaStreamCreateWithFlags";
  return call(name, Needs::device, [&](Runtime& runtime) { return create(runtime, stream, flags, name); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  const char* const name = "cudaStreamCreateWithPriority";
  return call(name, Needs::device, [&](Runtime& runtime) { return create(runtime, stream, flags, name); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call("cudaStreamDestroy", Needs::device, [&](Runtime& runtime) {
    runtime.destroy_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", Needs::device,
              [&](Runtime& runtime) { return runtime.wait_for_stream(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", Needs::device,
              [&](Runtime& runtime) { return runtime.query_stream(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call("cudaStreamWaitEvent", Needs::device, [&](Runtime& runtime) {
    if (flags != cudaEventWaitDefault) {
      die("cudaStreamWaitEvent: flags " + std::to_string(flags) + " are not on the list");
    }
    return runtime.make_stream_wait(stream, event);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", Needs::device,
              [&](Runtime& runtime) { return runtime.wait_for_everything(); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call("cudaEventCreateWithFlags", Needs::device, [&](Runtime& runtime) {
    if ((flags & ~(cudaEventDisableTiming | cudaEventBlockingSync)) != 0) {
      die("cudaEventCreateWithFlags: flags " + std::to_string(flags) + " are not on the list");
    }
    *event = runtime.create_event((flags & cudaEventDisableTiming) == 0);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call("cudaEventDestroy", Needs::device, [&](Runtime& runtime) {
    runtime.destroy_event(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call("cudaEventRecord", Needs::device,
              [&](Runtime& runtime) { return runtime.record(event, stream); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", Needs::device,
              [&](Runtime& runtime) { return runtime.wait_for_event(event); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", Needs::device, [&](Runtime& runtime) { return runtime.query_event(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call("cudaEventElapsedTime", Needs::device,
              [&](Runtime& runtime) { return runtime.milliseconds(from, to, *milliseconds); });
}
