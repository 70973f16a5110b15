#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/map_elements.h"

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
  cpu::map_elements(threads_, x, y, forward_range);
}

void CpuDevice::relu_backward(const Tensor& dy, const Tensor& y, const Tensor& dx) {
  require_shape(y, dy.shape(), "relu backward: y");
  require_shape(dx, dy.shape(), "relu backward: dx");
  cpu::map_elements(threads_, dy, y, dx, backward_range);
}

}  // namespace lockstep::device
