// fill, copy, scale, axpy, lerp.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/vector.h"

namespace lockstep::device {

namespace {

LOCKSTEP_VECTOR_CLONES
void scale_range(float a, float* x, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] *= a;
}

LOCKSTEP_VECTOR_CLONES
void axpy_range(float a, const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] += a * x[i];
}

LOCKSTEP_VECTOR_CLONES
void lerp_range(float weight, const float* x, float* y, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] += weight * (x[i] - y[i]);
}

}  // namespace

void CpuDevice::fill(float value, const Tensor& x) {
  float* to = x.f32();
  cpu::for_each_chunk(
      threads_, x.count(), cpu::elements_per_chunk,
      [=](std::int64_t first, std::int64_t last) { std::fill(to + first, to + last, value); });
}

void CpuDevice::copy(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "copy: y");
  const float* from = x.f32();
  float* to = y.f32();
  cpu::for_each_chunk(
      threads_, x.count(), cpu::elements_per_chunk,
      [=](std::int64_t first, std::int64_t last) { std::copy(from + first, from + last, to + first); });
}

void CpuDevice::cast(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "cast: y");
  copy(x, y);
}

void CpuDevice::scale(float a, const Tensor& x) {
  float* values = x.f32();
  cpu::for_each_chunk(
      threads_, x.count(), cpu::elements_per_chunk,
      [=](std::int64_t first, std::int64_t last) { scale_range(a, values + first, last - first); });
}

void CpuDevice::axpy(float a, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "axpy: y");
  const float* from = x.f32();
  float* to = y.f32();
  cpu::for_each_chunk(
      threads_, x.count(), cpu::elements_per_chunk,
      [=](std::int64_t first, std::int64_t last) { axpy_range(a, from + first, to + first, last - first); });
}

void CpuDevice::lerp(float weight, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "lerp: y");
  const float* from = x.f32();
  float* to = y.f32();
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        lerp_range(weight, from + first, to + first, last - first);
                      });
}

}  // namespace lockstep::device
