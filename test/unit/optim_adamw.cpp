#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "optim/optimizer.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::nn::ParameterSet;
using lockstep::optim::make_optimizer;
using lockstep::optim::Optimizer;
using lockstep::optim::OptimizerOptions;
using lockstep::test::devices;
using lockstep::test::pattern;
using lockstep::test::to_host;

TEST_CASE("adamw by hand", "[optim]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("weight", {2}, {}, true);
  parameters.add("bias", {1}, {}, false);
  parameters.allocate(1);
  const std::unique_ptr<Optimizer> adamw = make_optimizer(
      "adamw", {.momentum = 0., .weight_decay = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.}, parameters);
  parameters.import_values(0, std::vector<float>{1.f, -2.f});
  parameters.import_values(1, std::vector<float>{4.f});
  device.upload(std::vector<float>{8.f, -4.f}, parameters[0].gradient);
  device.upload(std::vector<float>{2.f}, parameters[1].gradient);

  // g = {2, -1} and .5. The first update is corrected by 1/2 and 1/4: m = g, root of v = |g|. The weights are
  // first scaled by 1 - .25 * .5 = .875, the bias is not.
  adamw->step({.learning_rate = 0.25, .gradient_scale = 0.25, .update = 1});
  std::vector<float> weight = to_host(device, parameters[0].value);
  CHECK(weight[0] == Approx(0.875 - 0.25 * 2. / 3.));
  CHECK(weight[1] == Approx(-1.75 + 0.25 * 1. / 2.));
  CHECK(to_host(device, parameters[1].value)[0] == Approx(4. - 0.25 * 0.5 / 1.5));
  REQUIRE(adamw->state().size() == 2);
  CHECK(adamw->state()[0].name == "exp_avg");
  CHECK(adamw->state()[1].name == "exp_avg_sq");
  CHECK(to_host(device, parameters[0].slice_of(adamw->state()[0].buffers)) == std::vector<float>{1.f, -0.5f});
  CHECK(to_host(device, parameters[0].slice_of(adamw->state()[1].buffers)) == std::vector<float>{1.f, 0.25f});

  // Second update of the bias with gradient zero: m = .125 / .75, v = .75 * .0625 / (1 - .5625).
  device.fill(0.f, parameters[1].gradient);
  const float before = to_host(device, parameters[1].value)[0];
  adamw->step({.learning_rate = 0.25, .gradient_scale = 0.25, .update = 2});
  const double m = 0.125 / 0.75;
  const double v = 0.75 * 0.0625 / 0.4375;
  CHECK(to_host(device, parameters[1].value)[0] == Approx(before - 0.25 * m / (std::sqrt(v) + 1.)));
  // Padding has stayed zero, here and in the values.
  CHECK(lockstep::test::sum_of_squares(device, adamw->state()[0].buffers[1]) == 0.125 * 0.125);
  const auto& bias_group = parameters.groups()[1];
  const double bias = to_host(device, parameters[1].value)[0];
  CHECK(lockstep::test::sum_of_squares(device, bias_group.values) == Approx(bias * bias));
}

TEST_CASE("adamw has the same bits for any number of threads", "[optim]") {
  const std::int64_t count = GENERATE(1, 7, 16384, 50003);
  const auto values_after = [count](int threads) {
    CpuDevice device(threads);
    ParameterSet parameters(device);
    parameters.add("weight", {count}, {}, true);
    parameters.allocate(1);
    parameters.import_values(0, pattern(count, 1));
    device.upload(pattern(count, 2), parameters[0].gradient);
    const auto adamw = make_optimizer("adamw", {}, parameters);
    for (std::int64_t update = 1; update <= 3; ++update) adamw->step({0.01, 0.5, update});
    return to_host(device, parameters[0].value);
  };
  CHECK(values_after(1) == values_after(2));
}

TEST_CASE("adamw refuses what cannot work", "[optim]") {
  CpuDevice device;
  ParameterSet parameters(device);
  parameters.allocate(1);
  const auto refusal = [&](const OptimizerOptions& options) -> std::string {
    try {
      (void)make_optimizer("adamw", options, parameters);
    } catch (const lockstep::Error& error) {
      CHECK(error.code() == lockstep::ExitCode::bad_config);
      return error.what();
    }
    return "no error";
  };
  CHECK(refusal({}) == "no error");
  OptimizerOptions options;
  options.beta1 = 1.;
  CHECK(refusal(options) == "optim.beta1 = 1: wanted 0 <= beta1 < 1");
  options = {};
  options.beta2 = -0.5;
  CHECK(refusal(options) == "optim.beta2 = -0.5: wanted 0 <= beta2 < 1");
  options = {};
  options.eps = GENERATE(0., 1e-60);
  CHECK_THAT(refusal(options), Catch::Contains("optim.eps = "));
  options = {};
  options.weight_decay = -1.;
  CHECK_THAT(refusal(options), Catch::Contains("optim.weight_decay = -1"));
}
