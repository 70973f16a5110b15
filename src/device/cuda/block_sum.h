// Sums over the threads of a block, in an order that depends on nothing but their number. Only .cu files
// include this header.
#pragma once

#include "device/cuda/launch.h"

namespace lockstep::device::cuda {

// Of the values of all `threads` (a power of two) threads, which must all call it; each gets the sum.
template <unsigned threads>
__device__ double block_sum(double value) {
  static_assert((threads & (threads - 1)) == 0);
  __shared__ double parts[threads];
  __syncthreads();  // the sum before this one has been read by all
  parts[threadIdx.x] = value;
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  __syncthreads();
  return parts[0];
}

}  // namespace lockstep::device::cuda
