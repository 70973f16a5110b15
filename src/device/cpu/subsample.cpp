// The shortcut without parameters: every stride-th pixel, further channels zero.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"

namespace lockstep::device {

namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

void check(const Tensor& fine, std::int64_t stride, const Tensor& coarse) {
  const Shape& s = fine.shape();
  if (stride < 1 || coarse.shape().rank() != 4 || coarse.shape()[3] < s[3]) {
    throw Error(ExitCode::internal, fmt::format("subsample by {}: {} does not become {}", stride, s.text(),
                                                coarse.shape().text()));
  }
  require_shape(coarse, {s[0], divide_up(s[1], stride), divide_up(s[2], stride), coarse.shape()[3]},
                "subsample: image out");
}

}  // namespace

void CpuDevice::subsample_forward(const Tensor& x, std::int64_t stride, const Tensor& y) {
  check(x, stride, y);
  const Shape in = x.shape();
  const Shape out = y.shape();
  const std::int64_t before = (out[3] - in[3]) / 2;
  const float* from = x.f32();
  float* to = y.f32();
  cpu::for_each_chunk(threads_, out[0] * out[1], 1, [=](std::int64_t row, std::int64_t) {
    const float* pixel = from + (row / out[1] * in[1] + row % out[1] * stride) * in[2] * in[3];
    float* result = to + row * out[2] * out[3];
    for (std::int64_t column = 0; column < out[2]; ++column, pixel += stride * in[3], result += out[3]) {
      std::fill(result, result + before, 0.f);
      std::fill(std::copy(pixel, pixel + in[3], result + before), result + out[3], 0.f);
    }
  });
}

void CpuDevice::subsample_backward(const Tensor& dy, std::int64_t stride, const Tensor& dx) {
  check(dx, stride, dy);
  const Shape in = dx.shape();
  const Shape out = dy.shape();
  const std::int64_t before = (out[3] - in[3]) / 2;
  const float* from = dy.f32();
  float* to = dx.f32();
  cpu::for_each_chunk(threads_, in[0] * in[1], 1, [=](std::int64_t row, std::int64_t) {
    float* result = to + row * in[2] * in[3];
    std::fill(result, result + in[2] * in[3], 0.f);
    if (row % in[1] % stride != 0) return;
    const float* gradient = from + (row / in[1] * out[1] + row % in[1] / stride) * out[2] * out[3];
    for (std::int64_t column = 0; column < out[2]; ++column, gradient += out[3], result += stride * in[3]) {
      std::copy(gradient + before, gradient + before + in[3], result);
    }
  });
}

}  // namespace lockstep::device
