#include "device/cuda/cuda_device.h"
#include "device/cuda/row_losses.h"

namespace lockstep::device {

namespace {

using cuda::row_threads;

// dpredictions: null for none.
template <typename T>
__global__ void squared_errors(const T* predictions, const float* targets, std::int64_t samples,
                               std::int64_t width, float gradient_scale, T* dpredictions, double* rows) {
  const std::int64_t row = blockIdx.x;
  const double share = 1. / static_cast<double>(width);
  double sum = 0.;
  for (std::int64_t j = threadIdx.x; j < width; j += row_threads) {
    const std::int64_t at = row * width + j;
    const double difference =
        static_cast<double>(cuda::to_float(predictions[at])) - static_cast<double>(targets[at]);
    sum += difference * difference;
    if (dpredictions != nullptr) {
      dpredictions[at] = cuda::from_float<T>(gradient_scale * static_cast<float>(2. * share * difference));
    }
  }
  const double total = cuda::block_sum<row_threads>(sum);
  if (threadIdx.x > 0) return;
  rows[row] = share * total;
  rows[samples + row] = 0.;
  rows[2 * samples + row] = 0.;
}

}  // namespace

void CudaDevice::mean_squared_error(const Tensor& predictions, const Tensor& targets, float gradient_scale,
                                    const Tensor& dpredictions, const Tensor& sums) {
  require_shape(targets, predictions.shape(), "mean_squared_error: targets");
  if (dpredictions) require_shape(dpredictions, predictions.shape(), "mean_squared_error: dpredictions");
  const std::int64_t samples = predictions.shape()[0];
  const Tensor rows = empty({3, samples}, DType::f64);
  cuda::for_values(predictions, [&](auto type) {
    using T = decltype(type);
    if (samples == 0) return;
    LOCKSTEP_LAUNCH((squared_errors<T>), (cuda::Grid{static_cast<unsigned>(samples), row_threads}), stream(),
                    cuda::reads<T>(predictions), cuda::reads<float>(targets), samples, predictions.shape()[1],
                    gradient_scale, cuda::writes<T>(dpredictions), cuda::writes<double>(rows));
  });
  cuda::sum_rows(rows, samples, stream(), sums);
}

}  // namespace lockstep::device
