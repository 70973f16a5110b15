// fill, copy, cast, scale, axpy, lerp.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

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
  const cpu::Values to(x);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto part = to.write(first, last - first);
                        std::fill_n(part.data(), last - first, value);
                      });
}

void CpuDevice::copy(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "copy: y");
  if (x.dtype() != y.dtype()) {
    throw Error(ExitCode::internal,
                fmt::format("copy: x has {}, y has {}", name_of(x.dtype()), name_of(y.dtype())));
  }
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        std::copy(from + first * size, from + last * size, to + first * size);
                      });
}

void CpuDevice::cast(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "cast: y");
  const cpu::Values from(x);
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto part = from.read(first, last - first);
                        const auto result = to.write(first, last - first);
                        std::copy_n(part.data(), last - first, result.data());
                      });
}

void CpuDevice::scale(float a, const Tensor& x) {
  const cpu::Values values(x);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        scale_range(a, values.update(first, last - first).data(), last - first);
                      });
}

void CpuDevice::axpy(float a, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "axpy: y");
  const cpu::Values from(x);
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto term = from.read(first, last - first);
                        axpy_range(a, term.data(), to.update(first, last - first).data(), last - first);
                      });
}

void CpuDevice::lerp(float weight, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "lerp: y");
  const cpu::Values from(x);
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, x.count(), cpu::elements_per_chunk,
                      [=](std::int64_t first, std::int64_t last) {
                        const auto aim = from.read(first, last - first);
                        lerp_range(weight, aim.data(), to.update(first, last - first).data(), last - first);
                      });
}

}  // namespace lockstep::device
