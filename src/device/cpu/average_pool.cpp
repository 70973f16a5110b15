// The mean over each image's pixels, and back.
#include <algorithm>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device {

namespace {

LOCKSTEP_VECTOR_CLONES
void average_image(const float* x, std::int64_t pixels, std::int64_t channels, float* y) {
  std::fill(y, y + channels, 0.f);
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel, x += channels) {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) y[c] += x[c];
  }
  const float part = 1.f / static_cast<float>(pixels);
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) y[c] *= part;
}

LOCKSTEP_VECTOR_CLONES
void spread_image(const float* dy, std::int64_t pixels, std::int64_t channels, float* dx) {
  const float part = 1.f / static_cast<float>(pixels);
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel, dx += channels) {
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) dx[c] = dy[c] * part;
  }
}

}  // namespace

void CpuDevice::average_pool_forward(const Tensor& x, const Tensor& y) {
  const Shape& image = x.shape();
  require_shape(y, {image[0], image[3]}, "average_pool: y");
  const std::int64_t pixels = image[1] * image[2];
  const std::int64_t channels = image[3];
  const cpu::Values from(x);
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, image[0], 1, [=](std::int64_t n, std::int64_t) {
    const auto input = from.read(n * pixels * channels, pixels * channels);
    average_image(input.data(), pixels, channels, to.write(n * channels, channels).data());
  });
}

void CpuDevice::average_pool_backward(const Tensor& dy, const Tensor& dx) {
  const Shape& image = dx.shape();
  require_shape(dy, {image[0], image[3]}, "average_pool backward: dy");
  const std::int64_t pixels = image[1] * image[2];
  const std::int64_t channels = image[3];
  const cpu::Values from(dy);
  const cpu::Values to(dx);
  cpu::for_each_chunk(threads_, image[0], 1, [=](std::int64_t n, std::int64_t) {
    const auto input = from.read(n * channels, channels);
    spread_image(input.data(), pixels, channels, to.write(n * pixels * channels, pixels * channels).data());
  });
}

}  // namespace lockstep::device
