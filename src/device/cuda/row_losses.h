// What losses have in common: a block for each sample, then one block that adds the samples up in an order
// that depends on their number alone. Only .cu files include this header.
#pragma once

#include "device/cuda/block_sum.h"
#include "device/cuda/numbers.h"

namespace lockstep::device::cuda {

// Threads of a sample's block, for rows of `width` numbers.
inline constexpr unsigned row_threads = 128;
inline constexpr unsigned samples_at_a_time = 256;

// rows: f64 [3, samples], the three numbers of a LossSum for each sample; sums: f64 [3].
template <typename = void>
__global__ void add_rows(const double* rows, std::int64_t samples, double* sums) {
  for (int k = 0; k < 3; ++k) {
    double sum = 0.;
    for (std::int64_t i = threadIdx.x; i < samples; i += samples_at_a_time) sum += rows[k * samples + i];
    const double total = block_sum<samples_at_a_time>(sum);
    if (threadIdx.x == 0) sums[k] = total;
  }
}

inline void sum_rows(const Tensor& rows, std::int64_t samples, cudaStream_t stream, const Tensor& sums) {
  require_shape(sums, {3}, "loss: sums");
  LOCKSTEP_LAUNCH((add_rows<>), (Grid{1, samples_at_a_time}), stream, reads<double>(rows), samples,
                  writes<double>(sums));
}

}  // namespace lockstep::device::cuda
