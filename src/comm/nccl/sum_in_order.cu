#include "comm/nccl/sum_in_order.h"

#include "device/cuda/numbers.h"

namespace lockstep::comm::nccl {

namespace {

namespace cuda = device::cuda;

template <typename T>
__global__ void sum_rows(const T* terms, std::int64_t rows, std::int64_t count, T* sum) {
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    float value = cuda::to_float(terms[i]);
    for (std::int64_t row = 1; row < rows; ++row) value += cuda::to_float(terms[row * count + i]);
    sum[i] = cuda::from_float<T>(value);
  }
}

}  // namespace

void sum_in_order(const device::Tensor& terms, const device::Tensor& sum, cudaStream_t stream) {
  const std::int64_t count = sum.count();
  if (count == 0) return;
  cuda::for_values(terms, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((sum_rows<T>), cuda::grid_over(static_cast<std::size_t>(count)), stream,
                    cuda::reads<T>(terms), terms.count() / count, count, cuda::writes<T>(sum));
  });
}

}  // namespace lockstep::comm::nccl
