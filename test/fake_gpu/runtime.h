// The state of CUDA in this process, as the stand-ins for its calls see it.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "clock.h"
#include "device_thread.h"
#include "memory.h"
#include "transfers.h"

namespace fake_gpu {

// One record of an event.
struct Record {
  Queue& queue;
  std::uint64_t number;  // in the queue
  Clock clock;           // of the stream, there
  std::atomic<bool> done{false};
  std::chrono::steady_clock::time_point time;
};

// Members lock by themselves and may be called from any thread. All die of handles that do not live.
class Runtime {
 public:
  Runtime();

  cudaError_t lost();
  void lose(cudaError_t error);
  void stall();

  cudaStream_t create_stream(int device_number);
  void destroy_stream(cudaStream_t stream);
  cudaError_t wait_for_stream(cudaStream_t stream);
  cudaError_t query_stream(cudaStream_t stream);
  cudaError_t wait_for_everything();

  cudaEvent_t create_event(bool timed);
  void destroy_event(cudaEvent_t event);
  cudaError_t record(cudaEvent_t event, cudaStream_t stream);
  cudaError_t wait_for_event(cudaEvent_t event);
  cudaError_t query_event(cudaEvent_t event);
  cudaError_t make_stream_wait(cudaStream_t stream, cudaEvent_t event);
  cudaError_t milliseconds(cudaEvent_t from, cudaEvent_t to, float& milliseconds);

  // Null: exhausted.
  void* allocate(std::size_t bytes, Allocation::Kind kind, int device_number);
  cudaError_t release(void* address, Allocation::Kind kind, const std::string& call);
  std::size_t memory_total();
  std::size_t memory_used(int device_number);

  // See stream.h. `fault`: the device is lost when the work's turn comes.
  cudaError_t enqueue(cudaStream_t stream, const std::string& what, const std::vector<Access>& accesses,
                      std::function<bool()> poll, cudaError_t fault);
  cudaError_t copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                   cudaStream_t stream);
  cudaError_t fill(void* target, int byte, std::size_t bytes, cudaStream_t stream);

 private:
  struct Stream {
    int device_number;
    bool destroyed;
    Queue& queue;
    std::size_t number;
    Clock clock;  // what comes before what will be queued next
  };
  struct Event {
    bool timed;
    std::shared_ptr<Record> last;  // null: never recorded
  };
  using Lock = std::unique_lock<std::mutex>;

  Stream& find(cudaStream_t stream, const std::string& call);
  Event& find(cudaEvent_t event, const std::string& call);
  // The next piece of work of a stream, whose accesses must be legal; it comes after all that the host has
  // waited for.
  Stamp next(Stream& stream, const std::string& what, const std::vector<Access>& accesses);
  void check_access(const Stream& stream, const Access& access, const Stamp& stamp);
  // Waits for the first `number` pieces of work of a queue.
  cudaError_t wait_until_done(Lock& lock, const Queue& queue, std::uint64_t number, const std::string& call);
  void host_knows(const Clock& clock);
  cudaError_t upload(Stream& stream, const Access& target, const void* source, const std::string& what);
  cudaError_t download(Lock& lock, Stream& stream, void* target, const Access& source,
                       const std::string& what);

  // The same work, which dies when it has changed more device memory than it may.
  std::function<bool()> watched(const std::string& what, const std::vector<Access>& accesses,
                                std::function<bool()> poll);

  const bool watch_writes_;
  std::mutex mutex_;
  Memory memory_;
  Transfers transfers_;
  Clock host_;  // what the host has waited for
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<cudaEvent_t, Event> events_;
  std::uintptr_t events_made_ = 0;
  DeviceThread thread_;
};

}  // namespace fake_gpu
