#include "../fixtures/reference_values.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using lockstep::test::gelu_reference;
using lockstep::test::ReferencePoint;
using namespace lockstep::test;

namespace {

double gelu(double x) {
  return 0.5 * x * (1. + std::tanh(std::sqrt(2. / M_PI) * (x + 0.044715 * x * x * x)));
}

// By finite differences.
double slope(double x) {
  constexpr double step = 1e-5;
  return (gelu(x + step) - gelu(x - step)) / (2. * step);
}

}  // namespace

TEST_CASE("gelu and its gradient on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("gelu")));
  const std::int64_t count = GENERATE(1, 9, 3000);
  const bool in_place = GENERATE(false, true);
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  Values x = random_values({count}, trial.dtype, 1, 6.f);
  const Values dy = random_values({count}, trial.dtype, 2);
  if (count > 4) {
    x.host[1] = std::numeric_limits<float>::quiet_NaN();
    x.host[2] = -60000.f;
    x.host[3] = 60000.f;
    x.host[4] = 0.f;
    x.host = values_of(x.shape, trial.dtype, x.host).host;
  }
  std::vector<float> wanted_y, wanted_dx, of_x, of_dy;
  for (std::size_t i = 0; i < x.host.size(); ++i) {
    wanted_y.push_back(static_cast<float>(gelu(x.host[i])));
    wanted_dx.push_back(static_cast<float>(dy.host[i] * slope(x.host[i])));
    of_x.push_back(std::abs(x.host[i]));
    of_dy.push_back(std::abs(dy.host[i]));
  }
  const auto forward = [&] {
    const Tensor from = on_device(device, x);
    const Tensor y = in_place ? from : unwritten(device, x.shape, trial.dtype);
    device.gelu_forward(from, y);
    return from_device(device, y);
  };
  check_near(repeated(trial, forward), wanted_y, {trial.dtype, 8, of_x});
  const auto backward = [&] {
    const Tensor gradient = on_device(device, dy);
    const Tensor dx = in_place ? gradient : unwritten(device, x.shape, trial.dtype);
    device.gelu_backward(gradient, on_device(device, x), dx);
    return from_device(device, dx);
  };
  check_near(repeated(trial, backward), wanted_dx, {trial.dtype, 16, of_dy});
}

TEST_CASE("gelu is PyTorch's with tanh", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("gelu")));
  INFO(trial);
  Device& device = *trial.device;
  const auto count = static_cast<std::int64_t>(gelu_reference.size());
  std::vector<float> x, wanted_y, wanted_slope, magnitudes;
  for (const ReferencePoint& point : gelu_reference) {
    x.push_back(static_cast<float>(point.x));
    wanted_y.push_back(static_cast<float>(point.y));
    wanted_slope.push_back(static_cast<float>(point.slope));
    // To some units in the last place, at -5 too, where 1 + tanh would have lost most of them.
    magnitudes.push_back(static_cast<float>(std::abs(point.y) * (1. + std::abs(point.x)) + 1e-20));
  }
  const Tensor there = on_device(device, {{count}, DType::f32, x});
  const Tensor y = unwritten(device, {count});
  device.gelu_forward(there, y);
  check_near(from_device(device, y), wanted_y, {DType::f32, 8, magnitudes});
  const Tensor dx = unwritten(device, {count});
  device.gelu_backward(on_device(device, {{count}, DType::f32, std::vector<float>(x.size(), 1.f)}), there,
                       dx);
  check_near(from_device(device, dx), wanted_slope, {DType::f32, 8, std::vector<float>(x.size(), 1.f)});
}
