// What residual networks need beside convolutions and batch normalisation.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "nn/average_pool2d.h"
#include "nn/conv2d.h"
#include "nn/max_pool2d.h"
#include "nn/subsample.h"

using lockstep::device::Activation;
using lockstep::device::Conv2dOptions;
using lockstep::device::Device;
using lockstep::device::PoolWindow;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using lockstep::nn::Conv2d;
using lockstep::nn::ForwardContext;
using lockstep::nn::ParameterSet;
using lockstep::nn::Tape;
using lockstep::nn::Variable;
using lockstep::test::check_gradients;
using lockstep::test::devices;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

const ForwardContext training{.training = true, .seed = 1, .step = 0, .sample_ids = {}};

}  // namespace

TEST_CASE("gradients of convolutions without a bias", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  struct Case {
    std::int64_t batch, height, width, in, out, kernel;
    Conv2dOptions options;
  };
  const Case c = GENERATE(Case{2, 8, 9, 3, 4, 7, {2, 3}}, Case{2, 5, 4, 6, 8, 1, {2, 0}},
                          Case{1, 4, 4, 1, 16, 3, {1, 1}}, Case{2, 5, 5, 16, 32, 3, {2, 1}});
  ParameterSet parameters(device);
  const Conv2d conv = Conv2d::without_bias(parameters, "conv", c.in, c.out, c.kernel, c.options);
  parameters.allocate(4);
  REQUIRE(parameters.size() == 1);
  const Tensor x = pattern_tensor(device, {c.batch, c.height, c.width, c.in}, 2, 2.f);
  check_gradients(parameters, training, x, [&](Tape& tape, const Variable& v) { return conv(tape, v); });

  // A second micro-batch adds to the gradient.
  const auto backward = [&](bool accumulate) {
    Tape tape(parameters, training);
    const Variable y = conv(tape, tape.input(x));
    tape.add_gradient(y, pattern_tensor(device, y.value.shape(), 300));
    tape.backward({accumulate, {}});
    return to_host(device, parameters[0].gradient);
  };
  const std::vector<float> once = backward(false);
  const std::vector<float> twice = backward(true);
  for (std::size_t i = 0; i < once.size(); ++i) REQUIRE(twice[i] == 2.f * once[i]);
}

TEST_CASE("gradients of max-pooling over windows that overlap", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto activation = GENERATE(Activation::none, Activation::relu);
  const std::int64_t channels = GENERATE(1, 19);
  const auto [batch, height, width] =
      GENERATE(std::array<std::int64_t, 3>{2, 5, 6}, std::array<std::int64_t, 3>{1, 1, 2},
               std::array<std::int64_t, 3>{1, 4, 7});
  const PoolWindow window = GENERATE(PoolWindow{3, 2, 1}, PoolWindow{2, 1, 1}, PoolWindow{2, 2, 1});
  ParameterSet parameters(device);
  parameters.allocate(0);
  check_gradients(
      parameters, training, pattern_tensor(device, {batch, height, width, channels}, 3, 8.f),
      [&](Tape& tape, const Variable& x) { return lockstep::nn::max_pool2d(tape, x, window, activation); });
}

TEST_CASE("max-pooling with padding takes no zeros in, and keeps NaN", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  Tape tape(parameters, {});
  const Tensor x = device.empty({1, 3, 3, 1});
  device.upload(std::vector<float>{-9, -8, -7, -6, -5, -4, -3, -2, std::nanf("")}, x);
  const Variable y = lockstep::nn::max_pool2d(tape, tape.input(x), {.size = 3, .stride = 2, .padding = 1});
  REQUIRE(y.value.shape() == Shape{1, 2, 2, 1});
  const std::vector<float> host = to_host(device, y.value);
  CHECK(host[0] == -5.f);
  CHECK(host[1] == -4.f);
  CHECK(host[2] == -2.f);
  CHECK(std::isnan(host[3]));
}

TEST_CASE("gradients of average-pooling and subsampling", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const std::int64_t channels = GENERATE(1, 16, 19);
  const auto [height, width] = GENERATE(std::pair(4, 6), std::pair(5, 3), std::pair(1, 1));
  const Tensor x = pattern_tensor(device, {2, height, width, channels}, 3, 4.f);
  check_gradients(parameters, training, x,
                  [](Tape& tape, const Variable& v) { return lockstep::nn::average_pool2d(tape, v); });
  for (const std::int64_t wider : {channels, 2 * channels, 2 * channels + 1}) {
    check_gradients(parameters, training, x, [=](Tape& tape, const Variable& v) {
      return lockstep::nn::subsample(tape, v, 2, wider);
    });
  }
}

TEST_CASE("subsampling takes every other pixel and puts zeros on both sides of the channels", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  Tape tape(parameters, {});
  const Tensor x = device.empty({1, 2, 3, 2});
  device.upload(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, x);
  const Variable y = lockstep::nn::subsample(tape, tape.input(x), 2, 4);
  REQUIRE(y.value.shape() == Shape{1, 1, 2, 4});
  CHECK(to_host(device, y.value) == std::vector<float>{0, 1, 2, 0, 0, 5, 6, 0});
}
