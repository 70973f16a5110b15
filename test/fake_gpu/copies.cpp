// Copies and fills of the runtime.
#include <cstring>
#include <utility>

#include "runtime.h"
#include "stream.h"

namespace fake_gpu {

cudaError_t Runtime::upload(Stream& stream, const Access& target, const void* source,
                            const std::string& what) {
  void* const to = const_cast<void*>(target.address);
  const std::size_t bytes = target.bytes;
  if (memory_.find(source) == nullptr) {
    // Of pageable memory the real call makes a copy before it returns.
    const char* const begin = static_cast<const char*>(source);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    next(stream, what, {target});
    thread_.queue(stream.queue, {[to, staged] {
                                   std::memcpy(to, staged->data(), staged->size());
                                   return true;
                                 },
                                 {}});
    return cudaSuccess;
  }
  const Stamp stamp = next(stream, what, {target, {source, bytes, Access::read}});
  transfers_.upload(static_cast<const char*>(source), bytes, stamp);
  thread_.queue(stream.queue, {[to, source, bytes] {
                                 std::memcpy(to, source, bytes);
                                 return true;
                               },
                               {}});
  return cudaSuccess;
}

cudaError_t Runtime::download(Lock& lock, Stream& stream, void* target, const Access& source,
                              const std::string& what) {
  const bool page_locked = memory_.find(target) != nullptr;
  std::vector<Access> accesses{source};
  if (page_locked) {
    accesses.push_back({target, source.bytes, Access::write});
  }
  const Stamp stamp = next(stream, what, accesses);
  if (page_locked) {
    const auto copy = transfers_.download(static_cast<char*>(target), source.bytes, stamp);
    thread_.queue(stream.queue, {[copy, source] {
                                   std::memcpy(copy->data(), source.address, source.bytes);
                                   return true;
                                 },
                                 {}});
    return cudaSuccess;
  }
  thread_.queue(stream.queue, {[target, source] {
                                 std::memcpy(target, source.address, source.bytes);
                                 return true;
                               },
                               {}});
  // To pageable memory the real call is done when it returns.
  const Clock clock = stream.clock;
  const cudaError_t error = wait_until_done(lock, stream.queue, stamp.number, what);
  if (error == cudaSuccess) {
    host_knows(clock);
  }
  return error;
}

cudaError_t Runtime::copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                          cudaStream_t handle) {
  Lock lock(mutex_);
  const std::string what = "cudaMemcpyAsync of " + std::to_string(bytes) + " bytes";
  Stream& stream = find(handle, what);
  if (bytes == 0) {
    return cudaSuccess;
  }
  const auto on_device = [this](const void* address) {
    const Allocation* const allocation = memory_.find(address);
    return allocation != nullptr && allocation->kind == Allocation::device;
  };
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if (!from_device && !to_device) {
    die(what + ": kind " + std::to_string(kind) + " is not on the list");
  }
  if (!from_device && on_device(source)) {
    die(what + ": said to come from the host, but the source is device memory");
  }
  if (!to_device && on_device(target)) {
    die(what + ": said to go to the host, but the target is device memory");
  }
  // That what is said to be device memory is some memory of CUDA's will be seen when the accesses are
  // checked.
  const Access read{source, bytes, Access::read};
  const Access write{target, bytes, Access::write};
  if (!from_device) {
    return upload(stream, write, source, what);
  }
  if (!to_device) {
    return download(lock, stream, target, read, what);
  }
  next(stream, what, {read, write});
  thread_.queue(stream.queue, {[target, source, bytes] {
                                 std::memmove(target, source, bytes);
                                 return true;
                               },
                               {}});
  return cudaSuccess;
}

cudaError_t Runtime::fill(void* target, int byte, std::size_t bytes, cudaStream_t handle) {
  const Lock lock(mutex_);
  const std::string what = "cudaMemsetAsync of " + std::to_string(bytes) + " bytes";
  Stream& stream = find(handle, what);
  if (bytes == 0) {
    return cudaSuccess;
  }
  next(stream, what, {{target, bytes, Access::write}});
  thread_.queue(stream.queue, {[target, byte, bytes] {
                                 std::memset(target, byte, bytes);
                                 return true;
                               },
                               {}});
  return cudaSuccess;
}

}  // namespace fake_gpu
