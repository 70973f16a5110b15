#include <array>
#include <numeric>
#include <vector>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"

namespace lockstep::device {

namespace {

// Eight partial sums, named in the source: the order of the additions is then the same in every copy of this
// loop, whatever its vectors' width.
LOCKSTEP_VECTOR_CLONES
double sum_range(const float* x, std::int64_t count) {
  constexpr std::int64_t lanes = 8;
  std::array<double, lanes> sums{};
  const std::int64_t whole = count / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const double value = x[i + lane];
      sums[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (std::int64_t i = whole; i < count; ++i) {
    const double value = x[i];
    sums[static_cast<std::size_t>(i - whole)] += value * value;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.);
}

}  // namespace

void CpuDevice::sum_of_squares(const Tensor& x, const Tensor& sum) {
  require_shape(sum, {1}, "sum_of_squares: sum");
  const float* values = x.f32();
  constexpr std::int64_t chunk = cpu::elements_per_chunk;
  std::vector<double> partial(static_cast<std::size_t>((x.count() + chunk - 1) / chunk));
  double* sums = partial.data();
  cpu::for_each_chunk(threads_, x.count(), chunk, [=](std::int64_t first, std::int64_t last) {
    sums[first / chunk] = sum_range(values + first, last - first);
  });
  sum.f64()[0] = std::accumulate(partial.begin(), partial.end(), 0.);
}

}  // namespace lockstep::device
