#include <cmath>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"

namespace lockstep::device {

namespace {

LOCKSTEP_VECTOR_CLONES
void step_range(const AdamwArguments& arguments, const float* gradient, float* value, float* exp_avg,
                float* exp_avg_sq, std::int64_t count) {
  const AdamwArguments a = arguments;  // local: the stores below cannot change it
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = a.gradient_scale * gradient[i];
    const float m = exp_avg[i] + a.exp_avg_weight * (g - exp_avg[i]);
    const float v = a.beta2 * exp_avg_sq[i] + a.exp_avg_sq_weight * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    value[i] = a.value_scale * value[i] - a.step_size * m / (std::sqrt(v) / a.root_correction + a.eps);
  }
}

}  // namespace

void CpuDevice::adamw_step(const AdamwArguments& arguments, const Tensor& gradient, const Tensor& value,
                           const Tensor& exp_avg, const Tensor& exp_avg_sq) {
  require_shape(gradient, value.shape(), "adamw: gradient");
  require_shape(exp_avg, value.shape(), "adamw: exp_avg");
  require_shape(exp_avg_sq, value.shape(), "adamw: exp_avg_sq");
  const float* g = gradient.f32();
  float* x = value.f32();
  float* m = exp_avg.f32();
  float* v = exp_avg_sq.f32();
  cpu::for_each_chunk(threads_, value.count(), cpu::elements_per_chunk,
                      [=, &arguments](std::int64_t first, std::int64_t last) {
                        step_range(arguments, g + first, x + first, m + first, v + first, last - first);
                      });
}

}  // namespace lockstep::device
