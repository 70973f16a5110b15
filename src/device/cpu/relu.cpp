#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device {

namespace {

// `x < 0 ? 0 : x` keeps NaN, as `x > 0 ? x : 0` would not: a diverged run must show in the loss.
LOCKSTEP_VECTOR_CLONES
void forward_range(const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0.f ? 0.f : x[i];
}

LOCKSTEP_VECTOR_CLONES
void backward_range(const float* dy, const float* y, float* dx, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float gradient = dy[i];  // outside the condition: no branch
    dx[i] = y[i] > 0.f ? gradient : 0.f;
  }
}

}  // namespace

void CpuDevice::relu_forward(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "relu: y");
  const cpu::Values from(x);
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto input = from.read(first, last - first);
                        forward_range(input.data(), to.write(first, last - first).data(), last - first);
                      });
}

void CpuDevice::relu_backward(const Tensor& dy, const Tensor& y, const Tensor& dx) {
  require_shape(y, dy.shape(), "relu backward: y");
  require_shape(dx, dy.shape(), "relu backward: dx");
  const cpu::Values gradient(dy);
  const cpu::Values output(y);
  const cpu::Values to(dx);
  cpu::for_each_chunk(threads_, dy.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const std::int64_t count = last - first;
                        backward_range(gradient.read(first, count).data(), output.read(first, count).data(),
                                       to.write(first, count).data(), count);
                      });
}

}  // namespace lockstep::device
