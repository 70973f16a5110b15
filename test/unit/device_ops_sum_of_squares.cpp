#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "device_under_test.h"

using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

double sum_on(Device& device, const Tensor& x) {
  const Tensor sum = device.empty({1}, DType::f64);
  device.sum_of_squares(x, sum);
  return from_device_f64(device, sum)[0];
}

}  // namespace

TEST_CASE("sums of squares are f64 sums on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("sum_of_squares")));
  // Nothing, a part of a thread's load, a block and a bit, several blocks.
  const std::int64_t count = GENERATE(0, 1, 3, 1025, 4097, 70001);
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  const Values x = random_values({count}, DType::f32, 1, 1e3f);
  long double wanted = 0.L;
  for (const float value : x.host) wanted += static_cast<long double>(value) * value;
  const Tensor values = on_device(device, x);
  const double got = sum_on(device, values);
  CHECK(got == Approx(static_cast<double>(wanted)).epsilon(1e-13));
  CHECK(sum_on(device, values) == got);
  write_bits(trial, {static_cast<float>(got), static_cast<float>(static_cast<long double>(got) - wanted)});
  // The bits depend on the values alone, not on where they lie.
  const Tensor room = device.zeros({count + 1});
  const Tensor moved = room.slice(1, {count});
  device.copy(values, moved);
  CHECK(sum_on(device, moved) == got);
  if (count == 0) return;
  device.fill(std::numeric_limits<float>::quiet_NaN(), moved.slice(count - 1, {1}));
  CHECK(std::isnan(sum_on(device, moved)));
  // Squares that f32 cannot hold.
  device.fill(1e30f, moved);
  CHECK(sum_on(device, moved) == Approx(1e60 * static_cast<double>(count)).epsilon(1e-6));
}
