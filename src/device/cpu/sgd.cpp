#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"

namespace lockstep::device {

namespace {

LOCKSTEP_VECTOR_CLONES
void step_range(const SgdArguments& arguments, const float* gradient, float* value, float* velocity,
                std::int64_t count) {
  const SgdArguments a = arguments;  // local: the stores below cannot change it
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = a.gradient_scale * gradient[i] + a.weight_decay * value[i];
    const float v = a.momentum * velocity[i] + g;
    velocity[i] = v;
    value[i] -= a.learning_rate * v;
  }
}

}  // namespace

void CpuDevice::sgd_step(const SgdArguments& arguments, const Tensor& gradient, const Tensor& value,
                         const Tensor& velocity) {
  require_shape(gradient, value.shape(), "sgd: gradient");
  require_shape(velocity, value.shape(), "sgd: velocity");
  const float* g = gradient.f32();
  float* x = value.f32();
  float* v = velocity.f32();
  cpu::for_each_chunk(threads_, value.count(), cpu::elements_per_chunk,
                      [=, &arguments](std::int64_t first, std::int64_t last) {
                        step_range(arguments, g + first, x + first, v + first, last - first);
                      });
}

}  // namespace lockstep::device
