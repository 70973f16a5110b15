// The mean over each image's pixels, and back. Own kernels and not cuDNN's pooling: the sum's order depends
// on the shape alone, and bf16 is added in f32.
#include "device/cuda/cuda_device.h"
#include "device/cuda/numbers.h"

namespace lockstep::device {

namespace {

using cuda::from_float;
using cuda::to_float;

constexpr unsigned channels_per_block = 32;
constexpr unsigned pixels_at_a_time = 8;

// A block: 32 channels of one image. Each of its rows of threads adds every eighth pixel.
template <typename T>
__global__ void average_image(const T* x, std::int64_t pixels, std::int64_t channels, unsigned groups, T* y) {
  __shared__ float parts[pixels_at_a_time][channels_per_block];
  const unsigned lane = threadIdx.x % channels_per_block;
  const unsigned row = threadIdx.x / channels_per_block;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x % groups) * channels_per_block + lane;
  const std::int64_t image = blockIdx.x / groups;
  float sum = 0.f;
  if (c < channels) {
    const T* pixel = x + image * pixels * channels + c;
    for (std::int64_t p = row; p < pixels; p += pixels_at_a_time) sum += to_float(pixel[p * channels]);
  }
  parts[row][lane] = sum;
  __syncthreads();
  if (row > 0 || c >= channels) return;
  for (unsigned i = 1; i < pixels_at_a_time; ++i) sum += parts[i][lane];
  y[image * channels + c] = from_float<T>(sum * (1.f / static_cast<float>(pixels)));
}

template <typename T>
__global__ void spread_image(const T* dy, std::int64_t count, std::int64_t pixels, std::int64_t channels,
                             T* dx) {
  const float part = 1.f / static_cast<float>(pixels);
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    const std::int64_t image = i / (pixels * channels);
    dx[i] = from_float<T>(to_float(dy[image * channels + i % channels]) * part);
  }
}

}  // namespace

void CudaDevice::average_pool_forward(const Tensor& x, const Tensor& y) {
  const Shape& image = x.shape();
  require_shape(y, {image[0], image[3]}, "average_pool: y");
  const std::int64_t pixels = image[1] * image[2];
  const std::int64_t channels = image[3];
  const auto groups = static_cast<unsigned>((channels + channels_per_block - 1) / channels_per_block);
  const cuda::Grid grid{groups * static_cast<unsigned>(image[0]), channels_per_block * pixels_at_a_time};
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((average_image<T>), grid, stream(), cuda::reads<T>(x), pixels, channels, groups,
                    cuda::writes<T>(y));
  });
}

void CudaDevice::average_pool_backward(const Tensor& dy, const Tensor& dx) {
  const Shape& image = dx.shape();
  require_shape(dy, {image[0], image[3]}, "average_pool backward: dy");
  cuda::for_values(dy, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((spread_image<T>), cuda::grid_over(static_cast<std::size_t>(dx.count())), stream(),
                    cuda::reads<T>(dy), dx.count(), image[1] * image[2], image[3], cuda::writes<T>(dx));
  });
}

}  // namespace lockstep::device
