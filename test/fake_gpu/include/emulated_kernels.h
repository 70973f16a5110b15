// What src/device/cuda/launch.h and the .cu files need where g++ compiles them: CUDA's qualifiers and
// built-in variables for code that runs on the CPU, and the call that queues a kernel on a stream of the fake
// GPU.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
// Blocks run one after the other in one thread.
#define __shared__ static

namespace fake_gpu {

struct Access {
  enum Kind { read, write, update };
  const void* address;  // null: no address
  std::size_t bytes;
  Kind kind;
};

struct Blocks {
  unsigned x, y;
};

// Queues the kernel; `body` runs one thread, with the built-in variables set, in the device's time.
cudaError_t launch(const char* name, Blocks blocks, unsigned threads, std::size_t shared_bytes,
                   cudaStream_t stream, std::vector<Access> accesses, std::function<void()> body);
void* dynamic_shared_memory();

// Of the thread that runs. There is one processor, the device's thread, and nobody else looks or writes;
// compilers can keep the values in registers over a loop.
struct BuiltIns {
  uint3 thread{};
  uint3 block{};
  dim3 block_size{};
  dim3 grid_size{};
};
extern BuiltIns built_ins;

void synchronise_block();
// A warp's 32 threads exchange 64 bits; the mask must name all of the block's threads of that warp that have
// not returned.
unsigned long long shuffle_down(unsigned mask, unsigned long long value, unsigned distance);
unsigned long long shuffle_xor(unsigned mask, unsigned long long value, unsigned lanes);
unsigned long long shuffle_from(unsigned mask, unsigned long long value, unsigned lane);
void synchronise_warp(unsigned mask);

template <typename T>
unsigned long long to_bits(T value) {
  static_assert(sizeof(T) <= sizeof(unsigned long long));
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T>
T from_bits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace fake_gpu

#define threadIdx (::fake_gpu::built_ins.thread)
#define blockIdx (::fake_gpu::built_ins.block)
#define blockDim (::fake_gpu::built_ins.block_size)
#define gridDim (::fake_gpu::built_ins.grid_size)

inline void __syncthreads() {
  fake_gpu::synchronise_block();
}
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  fake_gpu::synchronise_warp(mask);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
  return fake_gpu::from_bits<T>(fake_gpu::shuffle_down(mask, fake_gpu::to_bits(value), distance));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, unsigned lanes) {
  return fake_gpu::from_bits<T>(fake_gpu::shuffle_xor(mask, fake_gpu::to_bits(value), lanes));
}
template <typename T>
T __shfl_sync(unsigned mask, T value, unsigned lane) {
  return fake_gpu::from_bits<T>(fake_gpu::shuffle_from(mask, fake_gpu::to_bits(value), lane));
}
