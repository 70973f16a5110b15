// Streams and events of the runtime: what they make the device do, and what the host then knows.
#include <utility>

#include "runtime.h"
#include "stream.h"

namespace fake_gpu {

namespace {

// Handles are no addresses, so that nothing lives where one that was destroyed points to.
constexpr std::uintptr_t first_stream = 0x10000;
constexpr std::uintptr_t first_event = 0x40000000;

}  // namespace

Runtime::Stream& Runtime::find(cudaStream_t handle, const std::string& call) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
    die(call + " on the legacy or the thread's default stream, which nothing here may use");
  }
  if (number < first_stream || number - first_stream >= streams_.size()) {
    die(call + " on something that is no stream");
  }
  Stream& stream = *streams_[number - first_stream];
  if (stream.destroyed) {
    die(call + " on stream " + std::to_string(stream.number + 1) + ", which was destroyed");
  }
  return stream;
}

Runtime::Event& Runtime::find(cudaEvent_t event, const std::string& call) {
  const auto found = events_.find(event);
  if (found == events_.end()) {
    die(call + " of an event that was destroyed or never existed");
  }
  return found->second;
}

cudaStream_t Runtime::create_stream(int device_number) {
  const Lock lock(mutex_);
  const std::size_t number = streams_.size();
  streams_.push_back(
      std::make_unique<Stream>(Stream{device_number, false, thread_.add_queue(), number, host_}));
  return reinterpret_cast<cudaStream_t>(first_stream + number);
}

void Runtime::destroy_stream(cudaStream_t stream) {
  const Lock lock(mutex_);
  find(stream, "cudaStreamDestroy").destroyed = true;  // what is queued is done all the same
}

void Runtime::host_knows(const Clock& clock) {
  host_.join(clock);
  transfers_.settle(host_);
}

cudaError_t Runtime::wait_until_done(Lock& lock, const Queue& queue, std::uint64_t number,
                                     const std::string& call) {
  if (number > queue.doable && thread_.lost() == cudaSuccess) {
    die(call + " would wait for ever: the device is stalled");
  }
  thread_.wait(lock, [&] { return queue.done >= number; });
  return thread_.lost();
}

cudaError_t Runtime::wait_for_stream(cudaStream_t handle) {
  Lock lock(mutex_);
  const Stream& stream = find(handle, "cudaStreamSynchronize");
  const Clock clock = stream.clock;
  const cudaError_t error = wait_until_done(lock, stream.queue, stream.queue.queued, "cudaStreamSynchronize");
  if (error == cudaSuccess) {
    host_knows(clock);
  }
  return error;
}

cudaError_t Runtime::query_stream(cudaStream_t handle) {
  Lock lock(mutex_);
  const Stream& stream = find(handle, "cudaStreamQuery");
  const Clock clock = stream.clock;
  const std::uint64_t number = stream.queue.queued;
  const bool done = thread_.wait_a_moment(lock, [&] { return stream.queue.done >= number; });
  if (thread_.lost() != cudaSuccess) {
    return thread_.lost();
  }
  if (!done) {
    return cudaErrorNotReady;
  }
  host_knows(clock);
  return cudaSuccess;
}

cudaError_t Runtime::wait_for_everything() {
  Lock lock(mutex_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Clock clock = streams_[i]->clock;
    const Queue& queue = streams_[i]->queue;
    if (const cudaError_t error = wait_until_done(lock, queue, queue.queued, "cudaDeviceSynchronize")) {
      return error;
    }
    host_knows(clock);
  }
  return thread_.lost();
}

cudaEvent_t Runtime::create_event(bool timed) {
  const Lock lock(mutex_);
  const auto event = reinterpret_cast<cudaEvent_t>(first_event + events_made_++);
  events_.insert({event, {timed, nullptr}});
  return event;
}

void Runtime::destroy_event(cudaEvent_t event) {
  const Lock lock(mutex_);
  find(event, "cudaEventDestroy");
  events_.erase(event);
}

cudaError_t Runtime::record(cudaEvent_t handle, cudaStream_t stream_handle) {
  const Lock lock(mutex_);
  Event& event = find(handle, "cudaEventRecord");
  Stream& stream = find(stream_handle, "cudaEventRecord");
  const Stamp stamp = next(stream, "cudaEventRecord", {});
  event.last.reset(new Record{stream.queue, stamp.number, stream.clock, false, {}});
  thread_.queue(stream.queue, {[record = event.last] {
                                 record->time = std::chrono::steady_clock::now();
                                 record->done = true;
                                 return true;
                               },
                               {}});
  return cudaSuccess;
}

cudaError_t Runtime::wait_for_event(cudaEvent_t handle) {
  Lock lock(mutex_);
  const std::shared_ptr<Record> record = find(handle, "cudaEventSynchronize").last;
  if (record == nullptr) {
    return cudaSuccess;
  }
  const cudaError_t error = wait_until_done(lock, record->queue, record->number, "cudaEventSynchronize");
  if (error == cudaSuccess) {
    host_knows(record->clock);
  }
  return error;
}

cudaError_t Runtime::query_event(cudaEvent_t handle) {
  Lock lock(mutex_);
  const std::shared_ptr<Record> record = find(handle, "cudaEventQuery").last;
  if (record == nullptr) {
    return thread_.lost();
  }
  const bool done = thread_.wait_a_moment(lock, [&] { return record->queue.done >= record->number; });
  if (thread_.lost() != cudaSuccess) {
    return thread_.lost();
  }
  if (!done) {
    return cudaErrorNotReady;
  }
  host_knows(record->clock);
  return cudaSuccess;
}

cudaError_t Runtime::make_stream_wait(cudaStream_t stream_handle, cudaEvent_t handle) {
  const Lock lock(mutex_);
  Stream& stream = find(stream_handle, "cudaStreamWaitEvent");
  const std::shared_ptr<Record> record = find(handle, "cudaStreamWaitEvent").last;
  if (record == nullptr) {
    return cudaSuccess;  // as the real call: nothing was recorded that it could wait for
  }
  next(stream, "cudaStreamWaitEvent", {});
  stream.clock.join(record->clock);
  thread_.queue(stream.queue, {[record] { return record->done.load(); }, {}});
  return cudaSuccess;
}

cudaError_t Runtime::milliseconds(cudaEvent_t from, cudaEvent_t to, float& milliseconds) {
  const Lock lock(mutex_);
  const Event& first = find(from, "cudaEventElapsedTime");
  const Event& last = find(to, "cudaEventElapsedTime");
  if (!first.timed || !last.timed || first.last == nullptr || last.last == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  if (!first.last->done || !last.last->done) {
    return cudaErrorNotReady;
  }
  milliseconds = std::chrono::duration<float, std::milli>(last.last->time - first.last->time).count();
  return cudaSuccess;
}

}  // namespace fake_gpu
