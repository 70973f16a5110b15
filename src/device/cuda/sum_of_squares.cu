// Two passes: blocks add up ranges, one block adds up the blocks' sums. Who adds what depends on the number
// of elements alone.
#include <algorithm>

#include "device/cuda/block_sum.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/packs.h"

namespace lockstep::device {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned most_blocks = 1024;  // as many as the last pass has threads
constexpr int n = cuda::pack_size<float>;
// Ranges are made of whole turns of all threads of a block.
constexpr std::int64_t turn = std::int64_t{threads} * n;
constexpr std::int64_t turns_of_small_blocks = 4;

// A block adds up elements [range blockIdx.x, range (blockIdx.x + 1)). Squares of f32 are exact in f64.
__global__ void add_squares(const float* x, std::int64_t count, std::int64_t range, bool aligned,
                            double* partial) {
  const std::int64_t begin = range * blockIdx.x;
  const std::int64_t end = begin + range < count ? begin + range : count;
  double sum = 0.;
  for (std::int64_t i = begin + n * static_cast<std::int64_t>(threadIdx.x); i < end; i += turn) {
    float values[n] = {};
    if (i + n <= end) {
      cuda::load(x + i, aligned, values);
    } else {
      for (int k = 0; i + k < end; ++k) values[k] = x[i + k];
    }
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  }
  const double total = cuda::block_sum<threads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void add_partial_sums(const double* partial, unsigned blocks, double* sum) {
  const double total = cuda::block_sum<most_blocks>(threadIdx.x < blocks ? partial[threadIdx.x] : 0.);
  if (threadIdx.x == 0) *sum = total;
}

}  // namespace

void CudaDevice::sum_of_squares(const Tensor& x, const Tensor& sum) {
  require_shape(sum, {1}, "sum_of_squares: sum");
  const std::int64_t turns = (x.count() + turn - 1) / turn;
  const std::int64_t turns_of_block =
      std::max(turns_of_small_blocks, (turns + most_blocks - 1) / most_blocks);
  const auto blocks =
      static_cast<unsigned>(std::max<std::int64_t>(1, (turns + turns_of_block - 1) / turns_of_block));
  const Tensor partial = empty({blocks}, DType::f64);
  LOCKSTEP_LAUNCH(add_squares, (cuda::Grid{blocks, threads}), stream(), cuda::reads<float>(x), x.count(),
                  turns_of_block * turn, cuda::are_aligned(n, {&x}), cuda::writes<double>(partial));
  LOCKSTEP_LAUNCH(add_partial_sums, (cuda::Grid{1, most_blocks}), stream(), cuda::reads<double>(partial),
                  blocks, cuda::writes<double>(sum));
}

}  // namespace lockstep::device
