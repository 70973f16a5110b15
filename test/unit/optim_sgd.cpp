#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "optim/gradient_norm.h"
#include "optim/optimizer.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::nn::ParameterSet;
using lockstep::optim::clip_coefficient;
using lockstep::optim::gradient_norm;
using lockstep::optim::make_optimizer;
using lockstep::optim::Optimizer;
using lockstep::test::devices;
using lockstep::test::to_host;

TEST_CASE("sgd with momentum and weight decay, by hand", "[optim]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("weight", {2}, {}, true);
  parameters.add("bias", {1}, {}, false);
  parameters.allocate(1);
  const std::unique_ptr<Optimizer> sgd =
      make_optimizer("sgd", {.momentum = 0.5, .weight_decay = 0.25}, parameters);
  parameters.import_values(0, std::vector<float>{1.f, -2.f});
  parameters.import_values(1, std::vector<float>{4.f});
  device.upload(std::vector<float>{8.f, 4.f}, parameters[0].gradient);
  device.upload(std::vector<float>{2.f}, parameters[1].gradient);

  // Gradients are scaled by 1/4: g = {2 + .25 * 1, 1 - .25 * 2} and .5 without decay.
  sgd->step({.learning_rate = 0.5, .gradient_scale = 0.25});
  CHECK(to_host(device, parameters[0].value) == std::vector<float>{1.f - 0.5f * 2.25f, -2.f - 0.5f * 0.5f});
  CHECK(to_host(device, parameters[1].value) == std::vector<float>{3.75f});
  REQUIRE(sgd->state().size() == 1);
  CHECK(sgd->state()[0].name == "momentum");
  CHECK(to_host(device, parameters[0].slice_of(sgd->state()[0].buffers)) == std::vector<float>{2.25f, 0.5f});

  // The bias again: m = .5 * .5 + .5 = .75.
  sgd->step({.learning_rate = 0.5, .gradient_scale = 0.25});
  CHECK(to_host(device, parameters[1].value) == std::vector<float>{3.375f});
  // Padding has stayed zero.
  CHECK(lockstep::test::sum_of_squares(device, sgd->state()[0].buffers[1]) == 0.5625);
}

TEST_CASE("optimizers refuse what cannot work", "[optim]") {
  CpuDevice device;
  ParameterSet parameters(device);
  parameters.allocate(1);
  CHECK_THROWS_WITH(make_optimizer("sgdd", {}, parameters), Catch::Contains("did you mean 'sgd'"));
  CHECK_THROWS_AS(make_optimizer("sgd", {.momentum = 1., .weight_decay = 0.}, parameters), Error);
  CHECK_THROWS_AS(make_optimizer("sgd", {.momentum = 0., .weight_decay = -1.}, parameters), Error);
}

TEST_CASE("gradient norm and clipping", "[optim]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("weight", {1}, {}, true);
  parameters.add("bias", {1}, {}, false);
  parameters.allocate(1);
  CHECK(gradient_norm(parameters, 1.) == 0.);
  device.upload(std::vector<float>{3.f}, parameters[0].gradient);
  device.upload(std::vector<float>{-4.f}, parameters[1].gradient);
  CHECK(gradient_norm(parameters, 0.5) == 2.5);
  CHECK(clip_coefficient(2.5, 1.) == Approx(1. / 2.500001).epsilon(1e-12));
  CHECK(clip_coefficient(0.5, 1.) == 1.);
  CHECK(clip_coefficient(2.5, 0.) == 1.);
  CHECK(clip_coefficient(0., 1.) == 1.);
  CHECK(std::isnan(clip_coefficient(std::nan(""), 1.)));
}

TEST_CASE("the sum of squares has the same bits for any number of threads", "[optim]") {
  const std::int64_t count = GENERATE(0, 1, 7, 16384, 100003);
  CpuDevice one(1);
  const double wanted = lockstep::test::sum_of_squares(one, lockstep::test::pattern_tensor(one, {count}, 1));
  CpuDevice two(2);
  CHECK(lockstep::test::sum_of_squares(two, lockstep::test::pattern_tensor(two, {count}, 1)) == wanted);
  double reference = 0.;
  for (const float value : lockstep::test::pattern(count, 1)) reference += static_cast<double>(value) * value;
  CHECK(wanted == Approx(reference).epsilon(1e-13));
}
