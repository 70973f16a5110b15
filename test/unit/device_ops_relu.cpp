#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::Tensor;
using namespace lockstep::test;

TEST_CASE("relu and its gradient on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("relu")));
  const std::int64_t count = GENERATE(1, 9, 3000);
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  Values x = random_values({count}, trial.dtype, 1);
  const Values dy = random_values({count}, trial.dtype, 2);
  if (count > 4) {
    x.host[1] = std::numeric_limits<float>::quiet_NaN();
    x.host[2] = -std::numeric_limits<float>::infinity();
    x.host[3] = 0.f;
  }
  std::vector<float> wanted_y(x.host.size()), wanted_dx(x.host.size());
  for (std::size_t i = 0; i < x.host.size(); ++i) {
    wanted_y[i] = x.host[i] < 0.f ? 0.f : x.host[i];
    wanted_dx[i] = x.host[i] > 0.f ? dy.host[i] : 0.f;
  }
  const bool in_place = GENERATE(false, true);
  const Tensor from = on_device(device, x);
  const Tensor y = in_place ? from : unwritten(device, x.shape, trial.dtype);
  device.relu_forward(from, y);
  check_near(from_device(device, y), wanted_y, {trial.dtype, 0});
  const Tensor gradient = on_device(device, dy);
  const Tensor dx = in_place ? gradient : unwritten(device, x.shape, trial.dtype);
  device.relu_backward(gradient, y, dx);
  check_near(from_device(device, dx), wanted_dx, {trial.dtype, 0});
}
