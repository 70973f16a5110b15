// Starts kernels, and says what each reads and writes. Only .cu files include this header: nvcc compiles them
// for GPUs, g++ as C++ for test/fake_gpu, which runs the threads of a block as fibers and checks what is said
// here against what other streams do.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

#ifndef __CUDACC__
#include <emulated_kernels.h>
#endif

#include "device/cuda/check.h"

namespace lockstep::device::cuda {

// A kernel's argument that is an address in device memory, and how many elements from there on the kernel
// may touch. A kernel that touches what was not announced is wrong, even where it works.
template <typename T>
struct Reads {
  const T* data;
  std::size_t count;
};
template <typename T>
struct Writes {  // what was there does not matter, and is not kept
  T* data;
  std::size_t count;
};
template <typename T>
struct Updates {  // reads and writes, or writes only a part
  T* data;
  std::size_t count;
};

template <typename T>
Reads<T> reads(const T* data, std::size_t count) {
  return {data, count};
}
template <typename T>
Writes<T> writes(T* data, std::size_t count) {
  return {data, count};
}
template <typename T>
Updates<T> updates(T* data, std::size_t count) {
  return {data, count};
}

struct Grid {
  unsigned blocks = 1;
  unsigned threads = 1;          // of a block, at most 1024
  std::size_t shared_bytes = 0;  // of shared_memory(), beside __shared__ variables
  unsigned rows = 1;             // blockIdx.y < rows
};

// One thread for each of `count` elements, or as many blocks as keep a device busy: kernels loop from their
// thread's number in strides of all threads.
inline Grid grid_over(std::size_t count) {
  constexpr std::size_t threads = 256;
  constexpr std::size_t most_blocks = 4096;
  const std::size_t blocks = (count + threads - 1) / threads;
  return {static_cast<unsigned>(blocks < 1 ? 1 : blocks > most_blocks ? most_blocks : blocks), threads, 0, 1};
}

template <typename T>
T plain(T value) {
  return value;
}
template <typename T>
const T* plain(Reads<T> argument) {
  return argument.data;
}
template <typename T>
T* plain(Writes<T> argument) {
  return argument.data;
}
template <typename T>
T* plain(Updates<T> argument) {
  return argument.data;
}

#ifdef __CUDACC__

template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            Arguments... arguments) {
  kernel<<<dim3(grid.blocks, grid.rows), grid.threads, grid.shared_bytes, stream>>>(plain(arguments)...);
  check(cudaGetLastError(), name);
}

// The dynamic shared memory of the block.
template <typename T>
__device__ T* shared_memory() {
  extern __shared__ double lockstep_shared_memory[];
  return reinterpret_cast<T*>(lockstep_shared_memory);
}

#else

template <typename T>
fake_gpu::Access access_of(const Reads<T>& argument) {
  return {argument.data, argument.count * sizeof(T), fake_gpu::Access::read};
}
template <typename T>
fake_gpu::Access access_of(const Writes<T>& argument) {
  return {argument.data, argument.count * sizeof(T), fake_gpu::Access::write};
}
template <typename T>
fake_gpu::Access access_of(const Updates<T>& argument) {
  return {argument.data, argument.count * sizeof(T), fake_gpu::Access::update};
}
template <typename T>
fake_gpu::Access access_of(const T&) {
  return {nullptr, 0, fake_gpu::Access::read};
}

template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            Arguments... arguments) {
  check(fake_gpu::launch(name, {grid.blocks, grid.rows}, grid.threads, grid.shared_bytes, stream,
                         {access_of(arguments)...}, [=] { kernel(plain(arguments)...); }),
        name);
}

template <typename T>
T* shared_memory() {
  return static_cast<T*>(fake_gpu::dynamic_shared_memory());
}

#endif

}  // namespace lockstep::device::cuda

// LOCKSTEP_LAUNCH(kernel, grid, stream, arguments...): the kernel's name is in errors. A template with commas
// goes in parentheses.
#define LOCKSTEP_LAUNCH(kernel, grid, stream, ...) \
  ::lockstep::device::cuda::launch(#kernel, kernel, grid, stream, __VA_ARGS__)
