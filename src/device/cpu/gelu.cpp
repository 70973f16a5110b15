#include "device/gelu.h"

#include <bit>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/map_elements.h"

namespace lockstep::device {

namespace {

// exp(z) for z <= 0, to a unit or two in the last place; 0 below -87; NaN for NaN. No call and no branch:
// loops around it become vector code.
struct Exp {
  LOCKSTEP_INLINE float operator()(float z) const {
    constexpr float shift =
        0x1.8p23f;  // added to a number, it leaves the nearest whole one in the lowest bits
    const float held = z < -87.f ? -87.f : z;
    const float shifted = held * 1.44269504f + shift;
    const float whole = shifted - shift;
    const float rest = held - whole * 0.693359375f + whole * 2.12194440e-4f;  // ln 2 in two parts
    float sum = 1.f / 5040.f;
    sum = sum * rest + 1.f / 720.f;
    sum = sum * rest + 1.f / 120.f;
    sum = sum * rest + 1.f / 24.f;
    sum = sum * rest + 1.f / 6.f;
    sum = sum * rest + 0.5f;
    sum = sum * rest + 1.f;
    sum = sum * rest + 1.f;
    const auto power = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000u);
    return z < -87.f ? 0.f : sum * power;
  }
};

LOCKSTEP_VECTOR_CLONES
void forward_range(const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * gelu_at(x[i], Exp()).share;
}

LOCKSTEP_VECTOR_CLONES
void backward_range(const float* dy, const float* x, float* dx, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = dy[i] * gelu_at(x[i], Exp()).slope;
}

}  // namespace

void CpuDevice::gelu_forward(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "gelu: y");
  cpu::map_elements(threads_, x, y, forward_range);
}

void CpuDevice::gelu_backward(const Tensor& dy, const Tensor& x, const Tensor& dx) {
  require_shape(x, dy.shape(), "gelu backward: x");
  require_shape(dx, dy.shape(), "gelu backward: dx");
  cpu::map_elements(threads_, dy, x, dx, backward_range);
}

}  // namespace lockstep::device
