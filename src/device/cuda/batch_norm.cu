// Batch normalisation over the last extent. Own kernels and not cuDNN's: the moments belong to the
// micro-batch and are made apart from their use; sums are f64, in an order that depends on shape and type
// alone.
//
// A block's threads form rows of lanes: a lane handles a pack of channels, rows take pixels by turns. Blocks
// share the work by groups of channels and chunks of pixels; a second kernel adds what the chunks came to.
#include <cmath>

#include "device/cuda/cuda_device.h"
#include "device/cuda/packs.h"

namespace lockstep::device {

namespace {

constexpr unsigned threads = 256;
template <int n>
constexpr unsigned lanes = n == 1 ? 32 : 8;
template <int n>
constexpr unsigned rows = threads / lanes<n>;
// Of the kernel that adds chunks.
constexpr unsigned columns = 8;
constexpr unsigned chunk_rows = threads / columns;

struct Extent {
  std::int64_t pixels, channels;
  std::int64_t pixels_per_chunk;
  unsigned groups, chunks;  // of blocks

  cuda::Grid grid() const { return {groups * chunks, threads}; }
  Shape sums_shape() const { return {chunks, 2, channels}; }
};

template <int n>
Extent extent_of(const Tensor& x) {
  constexpr std::int64_t blocks_wanted = 512;  // enough to keep every memory channel busy
  Extent e;
  e.channels = x.shape()[x.shape().rank() - 1];
  e.pixels = x.count() / e.channels;
  constexpr std::int64_t group = lanes<n> * n;
  e.groups = cuda::narrow_count((e.channels + group - 1) / group);
  const std::int64_t chunks = e.groups < blocks_wanted ? blocks_wanted / e.groups : 1;
  const std::int64_t turns = (e.pixels + chunks * rows<n> - 1) / (chunks * rows<n>);
  e.pixels_per_chunk = (turns < 1 ? 1 : turns) * rows<n>;
  e.chunks = cuda::narrow_count((e.pixels + e.pixels_per_chunk - 1) / e.pixels_per_chunk);
  return e;
}

// What a thread handles.
struct Share {
  std::int64_t channel;      // the first of its pack; none from e.channels on
  std::int64_t first, last;  // pixels; last is not one of them
};

template <int n>
__device__ Share share_of(const Extent& e) {
  Share share;
  share.channel = (static_cast<std::int64_t>(blockIdx.x % e.groups) * lanes<n> + threadIdx.x % lanes<n>)*n;
  const std::int64_t chunk = static_cast<std::int64_t>(blockIdx.x / e.groups) * e.pixels_per_chunk;
  const std::int64_t end = chunk + e.pixels_per_chunk;
  share.first = chunk + threadIdx.x / lanes<n>;
  share.last = share.channel >= e.channels ? share.first : end < e.pixels ? end : e.pixels;
  return share;
}

// Adds the block's sums, row after row, into parts [chunks, 2, channels].
template <int n>
__device__ void add_rows(const double (&sum)[n], const double (&product)[n], const Extent& e, double* parts) {
  constexpr unsigned width = lanes<n> * n;
  __shared__ double all[rows<n>][2][width];
  const unsigned row = threadIdx.x / lanes<n>;
  const unsigned column = threadIdx.x % lanes<n> * n;
  for (int c = 0; c < n; ++c) {
    all[row][0][column + c] = sum[c];
    all[row][1][column + c] = product[c];
  }
  __syncthreads();
  if (threadIdx.x >= 2 * width) return;
  const unsigned which = threadIdx.x / width;
  const unsigned within = threadIdx.x % width;
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x % e.groups) * width + within;
  if (channel >= e.channels) return;
  double total = all[0][which][within];
  for (unsigned i = 1; i < rows<n>; ++i) total += all[i][which][within];
  parts[(static_cast<std::int64_t>(blockIdx.x / e.groups) * 2 + which) * e.channels + channel] = total;
}

// Sums of x and of x^2. In f64 the products are exact, and so the difference below loses nothing that x had.
template <typename T, int n>
__global__ void sum_powers(const T* x, Extent e, bool aligned, double* parts) {
  const Share share = share_of<n>(e);
  double sum[n] = {};
  double square[n] = {};
  LOCKSTEP_UNROLL(4)
  for (std::int64_t pixel = share.first; pixel < share.last; pixel += rows<n>) {
    float values[n];
    cuda::load<T, n>(x + pixel * e.channels + share.channel, aligned, values);
    for (int c = 0; c < n; ++c) {
      const double value = values[c];
      sum[c] += value;
      square[c] += value * value;
    }
  }
  add_rows<n>(sum, square, e, parts);
}

// Sums of dy and of dy (x - mean); with relu, dy is cut to where y > 0 before.
template <typename T, int n>
__global__ void sum_gradients(const T* x, const float* mean, const T* y, Extent e, bool relu, bool aligned,
                              T* dy, double* parts) {
  const Share share = share_of<n>(e);
  double sum[n] = {};
  double product[n] = {};
  float center[n] = {};
  if (share.first < share.last) {
    for (int c = 0; c < n; ++c) center[c] = mean[share.channel + c];
  }
  for (std::int64_t pixel = share.first; pixel < share.last; pixel += rows<n>) {
    const std::int64_t at = pixel * e.channels + share.channel;
    float gradient[n];
    float value[n];
    cuda::load<T, n>(dy + at, aligned, gradient);
    cuda::load<T, n>(x + at, aligned, value);
    if (relu) {
      float output[n];
      cuda::load<T, n>(y + at, aligned, output);
      for (int c = 0; c < n; ++c) gradient[c] = output[c] > 0.f ? gradient[c] : 0.f;
      cuda::store<T, n>(dy + at, aligned, gradient);
    }
    for (int c = 0; c < n; ++c) {
      sum[c] += static_cast<double>(gradient[c]);
      product[c] += static_cast<double>(gradient[c]) * static_cast<double>(value[c] - center[c]);
    }
  }
  add_rows<n>(sum, product, e, parts);
}

struct Totals {
  std::int64_t channel;
  double first, second;
  bool mine;  // this thread holds them
};

// The sums of a channel over all chunks, in a fixed order: a block's rows take chunks by turns and are added
// row after row. For all threads of the block.
__device__ Totals add_chunks(const double* parts, unsigned chunks, std::int64_t channels) {
  __shared__ double all[chunk_rows][2][columns];
  const unsigned row = threadIdx.x / columns;
  const unsigned column = threadIdx.x % columns;
  Totals totals{static_cast<std::int64_t>(blockIdx.x) * columns + column, 0., 0., false};
  if (totals.channel < channels) {
    for (unsigned chunk = row; chunk < chunks; chunk += chunk_rows) {
      const double* part = parts + static_cast<std::int64_t>(chunk) * 2 * channels + totals.channel;
      totals.first += part[0];
      totals.second += part[channels];
    }
  }
  all[row][0][column] = totals.first;
  all[row][1][column] = totals.second;
  __syncthreads();
  totals.mine = row == 0 && totals.channel < channels;
  if (!totals.mine) return totals;
  for (unsigned i = 1; i < chunk_rows; ++i) {
    totals.first += all[i][0][column];
    totals.second += all[i][1][column];
  }
  return totals;
}

cuda::Grid chunk_grid(const Extent& e) {
  return {cuda::narrow_count((e.channels + columns - 1) / columns), threads};
}

__global__ void finish_moments(const double* parts, Extent e, float* mean, float* variance) {
  const Totals totals = add_chunks(parts, e.chunks, e.channels);
  if (!totals.mine) return;
  const auto n = static_cast<double>(e.pixels);
  const double average = totals.first / n;
  mean[totals.channel] = static_cast<float>(average);
  // Rounding may leave less than 0; NaN stays.
  const double spread = totals.second / n - average * average;
  variance[totals.channel] = static_cast<float>(spread < 0. ? 0. : spread);
}

__device__ double inverse_deviation(float variance, float epsilon) {
  return 1. / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon));
}

// Slope: [3, channels] of dx = slope[0] (dy - slope[1] - slope[2] (x - mean)).
__global__ void finish_gradients(const double* parts, Extent e, const float* variance, float epsilon,
                                 const float* scale, bool accumulate, float* dscale, float* dshift,
                                 float* slope) {
  const Totals totals = add_chunks(parts, e.chunks, e.channels);
  if (!totals.mine) return;
  const std::int64_t c = totals.channel;
  const auto n = static_cast<double>(e.pixels);
  const double inverse = inverse_deviation(variance[c], epsilon);
  slope[c] = static_cast<float>(static_cast<double>(scale[c]) * inverse);
  slope[e.channels + c] = static_cast<float>(totals.first / n);
  slope[2 * e.channels + c] = static_cast<float>(totals.second * inverse * inverse / n);
  const auto of_scale = static_cast<float>(totals.second * inverse);
  const auto of_shift = static_cast<float>(totals.first);
  dscale[c] = accumulate ? dscale[c] + of_scale : of_scale;
  dshift[c] = accumulate ? dshift[c] + of_shift : of_shift;
}

// `residual` null: none.
template <typename T, int n>
__global__ void normalise(const T* __restrict__ x, const float* __restrict__ mean,
                          const float* __restrict__ variance, float epsilon, const float* __restrict__ scale,
                          const float* __restrict__ shift, const T* __restrict__ residual, bool relu,
                          Extent e, bool aligned, T* __restrict__ y) {
  const Share share = share_of<n>(e);
  if (share.first >= share.last) return;
  float center[n], factor[n], offset[n];
  for (int c = 0; c < n; ++c) {
    const std::int64_t channel = share.channel + c;
    center[c] = mean[channel];
    factor[c] = static_cast<float>(static_cast<double>(scale[channel]) *
                                   inverse_deviation(variance[channel], epsilon));
    offset[c] = shift[channel];
  }
  for (std::int64_t pixel = share.first; pixel < share.last; pixel += rows<n>) {
    const std::int64_t at = pixel * e.channels + share.channel;
    float values[n];
    cuda::load<T, n>(x + at, aligned, values);
    float added[n] = {};
    if (residual != nullptr) cuda::load<T, n>(residual + at, aligned, added);
    for (int c = 0; c < n; ++c) {
      const float value = (values[c] - center[c]) * factor[c] + offset[c] + added[c];
      // Keeps NaN.
      values[c] = relu && value < 0.f ? 0.f : value;
    }
    cuda::store<T, n>(y + at, aligned, values);
  }
}

template <typename T, int n>
__global__ void propagate(const T* x, const float* mean, const float* slope, Extent e, bool aligned,
                          const T* dy, T* dx) {
  const Share share = share_of<n>(e);
  if (share.first >= share.last) return;
  float center[n], factor[n], constant[n], linear[n];
  for (int c = 0; c < n; ++c) {
    const std::int64_t channel = share.channel + c;
    center[c] = mean[channel];
    factor[c] = slope[channel];
    constant[c] = slope[e.channels + channel];
    linear[c] = slope[2 * e.channels + channel];
  }
  for (std::int64_t pixel = share.first; pixel < share.last; pixel += rows<n>) {
    const std::int64_t at = pixel * e.channels + share.channel;
    float values[n];
    float gradient[n];
    cuda::load<T, n>(x + at, aligned, values);
    cuda::load<T, n>(dy + at, aligned, gradient);
    for (int c = 0; c < n; ++c) {
      gradient[c] = factor[c] * (gradient[c] - constant[c] - linear[c] * (values[c] - center[c]));
    }
    cuda::store<T, n>(dx + at, aligned, gradient);
  }
}

void require_channels(const Tensor& x, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    require_shape(*tensor, {x.shape()[x.shape().rank() - 1]}, "batch_norm: a channel's value");
  }
}

}  // namespace

void CudaDevice::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  require_channels(x, {&mean, &variance});
  cuda::for_packs(x, mean.count(), [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int n = decltype(width)::value;
    const Extent e = extent_of<n>(x);
    const Tensor parts = empty(e.sums_shape(), DType::f64);
    LOCKSTEP_LAUNCH((sum_powers<T, n>), e.grid(), stream(), cuda::reads<T>(x), e, cuda::are_aligned(n, {&x}),
                    cuda::writes<double>(parts));
    LOCKSTEP_LAUNCH(finish_moments, chunk_grid(e), stream(), cuda::reads<double>(parts), e,
                    cuda::writes<float>(mean), cuda::writes<float>(variance));
  });
}

void CudaDevice::batch_norm_forward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                    const Tensor& shift, const Tensor& residual, Activation activation,
                                    const Tensor& y) {
  require_channels(x, {&moments.mean, &moments.variance, &scale, &shift});
  if (residual) require_shape(residual, x.shape(), "batch_norm: residual");
  require_shape(y, x.shape(), "batch_norm: y");
  cuda::for_packs(x, scale.count(), [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int n = decltype(width)::value;
    const Extent e = extent_of<n>(x);
    LOCKSTEP_LAUNCH((normalise<T, n>), e.grid(), stream(), cuda::reads<T>(x),
                    cuda::reads<float>(moments.mean), cuda::reads<float>(moments.variance), moments.epsilon,
                    cuda::reads<float>(scale), cuda::reads<float>(shift), cuda::reads<T>(residual),
                    is_relu(activation, "batch_norm"), e, cuda::are_aligned(n, {&x, &residual, &y}),
                    cuda::writes<T>(y));
  });
}

void CudaDevice::batch_norm_backward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                     Activation activation, const Tensor& y, const Tensor& dy,
                                     bool accumulate, const Tensor& dx, const Tensor& dscale,
                                     const Tensor& dshift) {
  require_channels(x, {&moments.mean, &moments.variance, &scale, &dscale, &dshift});
  require_shape(dy, x.shape(), "batch_norm backward: dy");
  require_shape(dx, x.shape(), "batch_norm backward: dx");
  const bool relu = is_relu(activation, "batch_norm backward");
  const Tensor output = relu ? y : Tensor();
  if (relu) require_shape(output, x.shape(), "batch_norm backward: y");
  cuda::for_packs(x, scale.count(), [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int n = decltype(width)::value;
    const Extent e = extent_of<n>(x);
    const bool aligned = cuda::are_aligned(n, {&x, &output, &dy, &dx});
    const Tensor parts = empty(e.sums_shape(), DType::f64);
    const Tensor slope = empty({3, e.channels});
    LOCKSTEP_LAUNCH((sum_gradients<T, n>), e.grid(), stream(), cuda::reads<T>(x),
                    cuda::reads<float>(moments.mean), cuda::reads<T>(output), e, relu, aligned,
                    cuda::updates<T>(dy), cuda::writes<double>(parts));
    LOCKSTEP_LAUNCH(finish_gradients, chunk_grid(e), stream(), cuda::reads<double>(parts), e,
                    cuda::reads<float>(moments.variance), moments.epsilon, cuda::reads<float>(scale),
                    accumulate, cuda::updates<float>(dscale), cuda::updates<float>(dshift),
                    cuda::writes<float>(slope));
    // dx may be dy.
    LOCKSTEP_LAUNCH((propagate<T, n>), e.grid(), stream(), cuda::reads<T>(x),
                    cuda::reads<float>(moments.mean), cuda::reads<float>(slope), e, aligned,
                    cuda::reads<T>(dy), cuda::updates<T>(dx));
  });
}

}  // namespace lockstep::device
