// The shortcut without parameters: every stride-th pixel, further channels zero.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

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

template <class Element>
void keep_pixels(int threads, const Shape& in, std::int64_t stride, const Shape& out, const Element* from,
                 Element* to) {
  const std::int64_t before = (out[3] - in[3]) / 2;
  cpu::for_each_chunk(threads, out[0] * out[1], 1, [=, &in, &out](std::int64_t row, std::int64_t) {
    const Element* pixel = from + (row / out[1] * in[1] + row % out[1] * stride) * in[2] * in[3];
    Element* result = to + row * out[2] * out[3];
    for (std::int64_t column = 0; column < out[2]; ++column, pixel += stride * in[3], result += out[3]) {
      std::fill(result, result + before, Element{});
      std::fill(std::copy(pixel, pixel + in[3], result + before), result + out[3], Element{});
    }
  });
}

template <class Element>
void put_pixels_back(int threads, const Shape& in, std::int64_t stride, const Shape& out, const Element* from,
                     Element* to) {
  const std::int64_t before = (out[3] - in[3]) / 2;
  cpu::for_each_chunk(threads, in[0] * in[1], 1, [=, &in, &out](std::int64_t row, std::int64_t) {
    Element* result = to + row * in[2] * in[3];
    std::fill(result, result + in[2] * in[3], Element{});
    if (row % in[1] % stride != 0) return;
    const Element* gradient = from + (row / in[1] * out[1] + row % in[1] / stride) * out[2] * out[3];
    for (std::int64_t column = 0; column < out[2]; ++column, gradient += out[3], result += stride * in[3]) {
      std::copy(gradient + before, gradient + before + in[3], result);
    }
  });
}

}  // namespace

void CpuDevice::subsample_forward(const Tensor& x, std::int64_t stride, const Tensor& y) {
  check(x, stride, y);
  cpu::with_elements(x, y, [&](const auto* from, auto* to) {
    keep_pixels(threads_, x.shape(), stride, y.shape(), from, to);
  });
}

void CpuDevice::subsample_backward(const Tensor& dy, std::int64_t stride, const Tensor& dx) {
  check(dx, stride, dy);
  cpu::with_elements(dy, dx, [&](const auto* from, auto* to) {
    put_pixels_back(threads_, dx.shape(), stride, dy.shape(), from, to);
  });
}

}  // namespace lockstep::device
