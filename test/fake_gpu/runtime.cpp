#include "runtime.h"

#include <utility>

#include "process.h"
#include "settings.h"
#include "stream.h"
#include "untouched.h"

namespace fake_gpu {

namespace {

bool overlap(const Access& a, const Access& b) {
  const char* const first = static_cast<const char*>(a.address);
  const char* const second = static_cast<const char*>(b.address);
  return first < second + b.bytes && second < first + a.bytes;
}

}  // namespace

Runtime::Runtime()
    : watch_writes_(setting("FAKE_GPU_WATCH_WRITES", 0) == 1), thread_(mutex_, memory_.protection()) {}

cudaError_t Runtime::lost() {
  const Lock lock(mutex_);
  return thread_.lost();
}

void Runtime::lose(cudaError_t error) {
  const Lock lock(mutex_);
  thread_.lose(error);
}

void Runtime::stall() {
  const Lock lock(mutex_);
  thread_.stall();
}

void* Runtime::allocate(std::size_t bytes, Allocation::Kind kind, int device_number) {
  const Lock lock(mutex_);
  return memory_.allocate(bytes, kind, device_number);
}

cudaError_t Runtime::release(void* address, Allocation::Kind kind, const std::string& call) {
  {
    const Lock lock(mutex_);
    const Allocation& allocation = memory_.at(address, kind, call);
    transfers_.must_be_idle(allocation.begin, allocation.bytes, call);
  }
  // As the real calls do. Nothing is ordered by it: a program that relies on it would not be told of races.
  Lock lock(mutex_);
  for (const auto& stream : streams_) {
    if (const cudaError_t error = wait_until_done(lock, stream->queue, stream->queue.queued, call)) {
      return error;
    }
  }
  memory_.release(memory_.at(address, kind, call));
  return cudaSuccess;
}

std::size_t Runtime::memory_total() {
  const Lock lock(mutex_);
  return memory_.total();
}

std::size_t Runtime::memory_used(int device_number) {
  const Lock lock(mutex_);
  return memory_.used(device_number);
}

void Runtime::check_access(const Stream& stream, const Access& access, const Stamp& stamp) {
  Allocation& allocation = memory_.holding(access.address, access.bytes, *stamp.what);
  if (allocation.kind == Allocation::device && allocation.device_number != stream.device_number) {
    die(*stamp.what + " uses memory of device " + std::to_string(allocation.device_number) +
        " on a stream of device " + std::to_string(stream.device_number));
  }
  const auto begin = static_cast<std::size_t>(static_cast<const char*>(access.address) - allocation.begin);
  const std::string race =
      allocation.shadow.touch(begin, begin + access.bytes, access.kind, stamp, stream.clock);
  if (!race.empty()) {
    die(*stamp.what + " " + race + " (of an allocation of " + std::to_string(allocation.bytes) +
        "): no event and no synchronisation puts one after the other");
  }
}

Stamp Runtime::next(Stream& stream, const std::string& what, const std::vector<Access>& accesses) {
  const Stamp stamp{
      stream.number, stream.queue.queued + 1,
      std::make_shared<const std::string>(what + " on stream " + std::to_string(stream.number + 1))};
  stream.clock.join(host_);
  stream.clock.advance(stream.number, stamp.number);
  for (const Access& access : accesses) {
    if (access.bytes != 0) {
      check_access(stream, access, stamp);
    }
  }
  return stamp;
}

std::function<bool()> Runtime::watched(const std::string& what, const std::vector<Access>& accesses,
                                       std::function<bool()> poll) {
  return [this, what, accesses, poll = std::move(poll), before = true]() mutable {
    if (!std::exchange(before, false)) {
      return poll();  // work that takes more than one look: others may have written meanwhile
    }
    std::vector<std::span<const char>> memory;
    {
      const Lock lock(mutex_);
      memory = memory_.on_devices();
    }
    const Untouched untouched(memory, accesses);
    const bool done = poll();
    if (const std::string change = untouched.change(); !change.empty()) {
      die(what + " " + change);
    }
    return done;
  };
}

cudaError_t Runtime::enqueue(cudaStream_t handle, const std::string& what,
                             const std::vector<Access>& accesses, std::function<bool()> poll,
                             cudaError_t fault) {
  const Lock lock(mutex_);
  Stream& stream = find(handle, what);
  std::vector<Access> overwritten;
  for (const Access& access : accesses) {
    if (access.kind != Access::write || access.bytes == 0) {
      continue;
    }
    for (const Access& other : accesses) {
      if (&other != &access && overlap(access, other)) {
        die(what + " is said to write what it also uses otherwise: that is an update");
      }
    }
    overwritten.push_back(access);
  }
  const Stamp stamp = next(stream, what, accesses);
  if (watch_writes_) {
    poll = watched(*stamp.what, accesses, std::move(poll));
  }
  thread_.queue(stream.queue, {std::move(poll), std::move(overwritten), fault});
  return thread_.lost();
}

cudaError_t enqueue(cudaStream_t stream, std::string what, std::vector<Access> accesses,
                    std::function<bool()> poll) {
  return process().runtime.enqueue(stream, what, accesses, std::move(poll), cudaSuccess);
}

}  // namespace fake_gpu
