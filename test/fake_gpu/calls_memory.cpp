// Stand-ins for the CUDA runtime's calls about memory.
#include "call.h"
#include "process.h"
#include "stream.h"

namespace {

using fake_gpu::Allocation;
using fake_gpu::call;
using fake_gpu::Needs;
using fake_gpu::process;
using fake_gpu::Runtime;

cudaError_t allocate(Runtime& runtime, void** pointer, std::size_t bytes, Allocation::Kind kind) {
  *pointer = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  *pointer = runtime.allocate(bytes, kind, process().devices.current());
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t release(Runtime& runtime, void* pointer, Allocation::Kind kind, const char* name) {
  return pointer == nullptr ? cudaSuccess : runtime.release(pointer, kind, name);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return call("cudaMalloc", Needs::device,
              [&](Runtime& runtime) { return allocate(runtime, pointer, bytes, Allocation::device); });
}

cudaError_t cudaFree(void* pointer) {
  return call("cudaFree", Needs::device,
              [&](Runtime& runtime) { return release(runtime, pointer, Allocation::device, "cudaFree"); });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return call("cudaMallocHost", Needs::device,
              [&](Runtime& runtime) { return allocate(runtime, pointer, bytes, Allocation::page_locked); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return call("cudaHostAlloc", Needs::device, [&](Runtime& runtime) {
    if ((flags & ~(cudaHostAllocPortable | cudaHostAllocMapped)) != 0) {
      fake_gpu::die("cudaHostAlloc: flags " + std::to_string(flags) + " are not on the list");
    }
    return allocate(runtime, pointer, bytes, Allocation::page_locked);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return call("cudaFreeHost", Needs::device, [&](Runtime& runtime) {
    return release(runtime, pointer, Allocation::page_locked, "cudaFreeHost");
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", Needs::device, [&](Runtime& runtime) {
    *total = runtime.memory_total();
    *free = *total - runtime.memory_used(process().devices.current());
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", Needs::device,
              [&](Runtime& runtime) { return runtime.copy(target, source, bytes, kind, stream); });
}

cudaError_t cudaMemsetAsync(void* target, int byte, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", Needs::device,
              [&](Runtime& runtime) { return runtime.fill(target, byte, bytes, stream); });
}
