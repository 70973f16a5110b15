#include <cmath>

#include "device/cuda/cuda_device.h"
#include "device/cuda/row_losses.h"

namespace lockstep::device {

namespace {

using cuda::row_threads;
using cuda::to_float;

// A logit and its class. Of two the larger logit wins, of equals the lower class. NaN wins over nothing and
// loses to nothing: where there is one the sum of exponentials is NaN, and nobody asks for the largest.
struct Largest {
  float logit;
  std::int64_t at;

  __device__ void meet(const Largest& other) {
    if (other.logit > logit || (other.logit == logit && other.at < at)) *this = other;
  }
};

// Of all threads of a block; each gets it.
__device__ Largest largest_of_block(const Largest& mine) {
  __shared__ float logits[row_threads];
  __shared__ std::int64_t classes[row_threads];
  Largest here = mine;
  logits[threadIdx.x] = here.logit;
  classes[threadIdx.x] = here.at;
  for (unsigned half = row_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    here.meet({logits[threadIdx.x + half], classes[threadIdx.x + half]});
    logits[threadIdx.x] = here.logit;
    classes[threadIdx.x] = here.at;
  }
  __syncthreads();
  return {logits[0], classes[0]};
}

// dlogits: null for none. Everything but the values themselves is f64, as on the CPU.
template <typename T>
__global__ void cross_entropies(const T* logits, const std::int64_t* labels, std::int64_t samples,
                                std::int64_t classes, double label_smoothing, float gradient_scale,
                                T* dlogits, double* rows) {
  const std::int64_t sample = blockIdx.x;
  const T* row = logits + sample * classes;
  const std::int64_t label = labels[sample];
  if (label < 0 || label >= classes) {  // the whole block
    for (std::int64_t j = threadIdx.x; dlogits != nullptr && j < classes; j += row_threads) {
      dlogits[sample * classes + j] = cuda::from_float<T>(0.f);
    }
    if (threadIdx.x == 0) {
      rows[sample] = 0.;
      rows[samples + sample] = 0.;
      rows[2 * samples + sample] = 1.;
    }
    return;
  }
  // Threads without a class start where the first one does.
  Largest mine = {to_float(row[threadIdx.x < classes ? threadIdx.x : 0]),
                  threadIdx.x < classes ? threadIdx.x : 0};
  double plain_sum = 0.;
  for (std::int64_t j = threadIdx.x; j < classes; j += row_threads) {
    const float logit = to_float(row[j]);
    mine.meet({logit, j});
    plain_sum += static_cast<double>(logit);
  }
  const Largest largest = largest_of_block(mine);
  const double shift = static_cast<double>(largest.logit);
  double sum = 0.;
  for (std::int64_t j = threadIdx.x; j < classes; j += row_threads) {
    sum += std::exp(static_cast<double>(to_float(row[j])) - shift);
  }
  sum = cuda::block_sum<row_threads>(sum);
  plain_sum = cuda::block_sum<row_threads>(plain_sum);
  const double log_sum = std::log(sum) + shift;
  const double everywhere = label_smoothing / static_cast<double>(classes);
  const double at_label = 1. - label_smoothing;
  for (std::int64_t j = threadIdx.x; dlogits != nullptr && j < classes; j += row_threads) {
    const double slope =
        std::exp(static_cast<double>(to_float(row[j])) - log_sum) - everywhere - (j == label ? at_label : 0.);
    dlogits[sample * classes + j] = cuda::from_float<T>(gradient_scale * static_cast<float>(slope));
  }
  if (threadIdx.x > 0) return;
  double wanted = at_label * static_cast<double>(to_float(row[label]));
  if (label_smoothing > 0.) wanted += everywhere * plain_sum;
  rows[sample] = log_sum - wanted;
  rows[samples + sample] = largest.at == label && sum == sum ? 1. : 0.;  // with NaN: never correct
  rows[2 * samples + sample] = 0.;
}

}  // namespace

void CudaDevice::softmax_cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing,
                                       float gradient_scale, const Tensor& dlogits, const Tensor& sums) {
  const std::int64_t samples = logits.shape()[0];
  const std::int64_t classes = logits.shape()[1];
  require_shape(labels, {samples}, "softmax_cross_entropy: labels");
  if (dlogits) require_shape(dlogits, {samples, classes}, "softmax_cross_entropy: dlogits");
  const Tensor rows = empty({3, samples}, DType::f64);
  cuda::for_values(logits, [&](auto type) {
    using T = decltype(type);
    if (samples == 0) return;
    LOCKSTEP_LAUNCH((cross_entropies<T>), (cuda::Grid{static_cast<unsigned>(samples), row_threads}), stream(),
                    cuda::reads<T>(logits), cuda::reads<std::int64_t>(labels), samples, classes,
                    label_smoothing, gradient_scale, cuda::writes<T>(dlogits), cuda::writes<double>(rows));
  });
  cuda::sum_rows(rows, samples, stream(), sums);
}

}  // namespace lockstep::device
