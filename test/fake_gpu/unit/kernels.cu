// g++ compiles this file for the fake GPU; nvcc must compile it as well.
#include "kernels.h"

#include "device/cuda/launch.h"

using lockstep::device::cuda::Grid;
using lockstep::device::cuda::grid_over;
using lockstep::device::cuda::reads;
using lockstep::device::cuda::shared_memory;
using lockstep::device::cuda::updates;
using lockstep::device::cuda::writes;

namespace {

__global__ void add_kernel(const float* from, float* to, std::size_t count, float amount) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    to[i] = from[i] + amount;
  }
}

__global__ void add_in_place_kernel(float* data, std::size_t count, float amount) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    data[i] += amount;
  }
}

__device__ float own_share(const float* from, std::size_t count) {
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
    sum += from[i];
  }
  return sum;
}

__global__ void __launch_bounds__(256)
    sum_by_barriers_kernel(const float* from, float* to, std::size_t count) {
  __shared__ float partial[256];
  partial[threadIdx.x] = own_share(from, count);
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      partial[threadIdx.x] += partial[threadIdx.x + half];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *to = partial[0];
  }
}

__global__ void sum_by_shuffles_kernel(const float* from, float* to, std::size_t count) {
  __shared__ float partial[32];
  float sum = own_share(from, count);
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0F;
    for (unsigned distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, distance);
    }
    __syncwarp();
    if (threadIdx.x == 0) {
      *to = sum;
    }
  }
}

__global__ void choose_lanes_kernel(const float* from, float* to) {
  to[threadIdx.x] = __shfl_sync(0xffffffffu, from[threadIdx.x], 3 * (threadIdx.x % 32) % 32);
}

__global__ void number_blocks_kernel(float* to) {
  float* const shared = shared_memory<float>();
  if (threadIdx.x == 0) {
    shared[0] = static_cast<float>(blockIdx.y * 100);
    shared[1] = static_cast<float>(blockIdx.x);
  }
  __syncthreads();
  if (threadIdx.x == 1) {
    to[blockIdx.y * gridDim.x + blockIdx.x] = shared[0] + shared[1];
  }
}

__global__ void last_block_wins_kernel(float* to) {
  *to = static_cast<float>(blockIdx.x);
}

__global__ void leave_before_barrier_kernel(unsigned leaver) {
  if (threadIdx.x == leaver) {
    return;
  }
  __syncthreads();
}

__global__ void diverge_kernel(int) {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

__global__ void name_missing_lanes_kernel(int) {
  __syncwarp(0xffffffffu);
}

__global__ void nothing_kernel(int) {}

}  // namespace

void add(const float* from, float* to, std::size_t count, float amount, cudaStream_t stream) {
  LOCKSTEP_LAUNCH(add_kernel, grid_over(count), stream, reads(from, count), writes(to, count), count, amount);
}

void add_in_place(float* data, std::size_t count, float amount, cudaStream_t stream) {
  LOCKSTEP_LAUNCH(add_in_place_kernel, grid_over(count), stream, updates(data, count), count, amount);
}

void sum_by_barriers(const float* from, float* to, std::size_t count, cudaStream_t stream) {
  const Grid grid{1, 256, 0, 1};
  LOCKSTEP_LAUNCH(sum_by_barriers_kernel, grid, stream, reads(from, count), writes(to, 1), count);
}

void sum_by_shuffles(const float* from, float* to, std::size_t count, unsigned threads, cudaStream_t stream) {
  const Grid grid{1, threads, 0, 1};
  LOCKSTEP_LAUNCH(sum_by_shuffles_kernel, grid, stream, reads(from, count), writes(to, 1), count);
}

void choose_lanes(const float* from, float* to, std::size_t count, cudaStream_t stream) {
  const Grid grid{1, static_cast<unsigned>(count), 0, 1};
  LOCKSTEP_LAUNCH(choose_lanes_kernel, grid, stream, reads(from, count), writes(to, count));
}

void number_blocks(float* to, unsigned columns, unsigned rows, cudaStream_t stream) {
  const Grid grid{columns, 32, 2 * sizeof(float), rows};
  LOCKSTEP_LAUNCH(number_blocks_kernel, grid, stream, writes(to, std::size_t{columns} * rows));
}

void last_block_wins(float* to, unsigned blocks, cudaStream_t stream) {
  const Grid grid{blocks, 1, 0, 1};
  LOCKSTEP_LAUNCH(last_block_wins_kernel, grid, stream, writes(to, 1));
}

void leave_before_barrier(unsigned threads, unsigned leaver, cudaStream_t stream) {
  const Grid grid{1, threads, 0, 1};
  LOCKSTEP_LAUNCH(leave_before_barrier_kernel, grid, stream, leaver);
}

void diverge(cudaStream_t stream) {
  const Grid grid{1, 32, 0, 1};
  LOCKSTEP_LAUNCH(diverge_kernel, grid, stream, 0);
}

void name_missing_lanes(cudaStream_t stream) {
  const Grid grid{1, 16, 0, 1};
  LOCKSTEP_LAUNCH(name_missing_lanes_kernel, grid, stream, 0);
}

void add_to_overwritten(float* data, std::size_t count, cudaStream_t stream) {
  LOCKSTEP_LAUNCH(add_in_place_kernel, grid_over(count), stream, writes(data, count), count, 1.0F);
}

void add_beyond(float* data, std::size_t count, cudaStream_t stream) {
  LOCKSTEP_LAUNCH(add_in_place_kernel, grid_over(count), stream, updates(data, count), count + 1, 1.0F);
}

void start(unsigned blocks, unsigned threads, cudaStream_t stream) {
  const Grid grid{blocks, threads, 0, 1};
  LOCKSTEP_LAUNCH(nothing_kernel, grid, stream, 0);
}
