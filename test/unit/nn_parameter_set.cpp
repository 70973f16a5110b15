#include "nn/parameter_set.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::Tensor;
using lockstep::nn::Initializer;
using lockstep::nn::Parameter;
using lockstep::nn::ParameterSet;
using lockstep::test::devices;
using lockstep::test::to_host;

TEST_CASE("parameters lie in reverse order, aligned, by weight decay", "[nn]") {
  CpuDevice device;
  ParameterSet parameters(device);
  parameters.add("a.weight", {3, 5}, Initializer::fan_in(5), true);
  parameters.add("a.bias", {3}, Initializer::fan_in(5), false);
  parameters.add("b.weight", {70}, Initializer::fan_in(5), true);
  CHECK_THROWS_AS(parameters.add("a.bias", {3}, {}, false), lockstep::Error);
  parameters.allocate(1);
  CHECK_THROWS_AS(parameters.add("late", {3}, {}, false), lockstep::Error);

  CHECK(parameters.element_count() == 88);
  REQUIRE(parameters.groups().size() == 2);
  CHECK(parameters.groups()[0].weight_decay);
  CHECK(parameters.groups()[0].members == std::vector<std::size_t>{2, 0});
  CHECK(parameters.groups()[0].values.count() == 128 + 64);
  CHECK(parameters.groups()[1].members == std::vector<std::size_t>{1});
  CHECK(parameters.find("b.weight")->offset == 0);
  CHECK(parameters.find("a.weight")->offset == 128);
  CHECK(parameters.find("c") == nullptr);

  // Padding is zero, so that norms over whole buffers are right.
  double sum = 0.;
  for (const Parameter& parameter : parameters.all()) {
    for (const float value : to_host(device, parameter.value)) sum += static_cast<double>(value) * value;
  }
  double flat = 0.;
  for (const auto& group : parameters.groups()) flat += lockstep::test::sum_of_squares(device, group.values);
  CHECK(flat == Approx(sum).epsilon(1e-12));
}

TEST_CASE("an empty set and a model without biases have no empty group", "[nn]") {
  CpuDevice device;
  ParameterSet none(device);
  none.allocate(1);
  CHECK(none.groups().empty());
  ParameterSet weights(device);
  weights.add("w", {4}, {}, true);
  weights.allocate(1);
  CHECK(weights.groups().size() == 1);
  CHECK(to_host(device, weights[0].value) == std::vector<float>(4, 0.f));
}

TEST_CASE("initial values depend on seed and name alone and have PyTorch's bound", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto values = [&](std::uint64_t seed, bool other_first) {
    ParameterSet parameters(device);
    if (other_first) parameters.add("other", {7}, Initializer::fan_in(3), true);
    const std::size_t index = parameters.add("conv1.weight", {16, 1, 25, 25}, Initializer::fan_in(625), true);
    parameters.allocate(seed);
    return to_host(device, parameters[index].value);
  };
  const std::vector<float> first = values(1, false);
  CHECK(first == values(1, true));
  CHECK(first != values(2, false));
  double sum = 0., squares = 0., largest = 0.;
  for (const float value : first) {
    sum += value;
    squares += static_cast<double>(value) * value;
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const double bound = 1. / 25.;
  const auto count = static_cast<double>(first.size());
  CHECK(largest <= bound);
  CHECK(largest > 0.99 * bound);
  CHECK(std::abs(sum / count) < 5. * bound / std::sqrt(3. * count));
  CHECK(squares / count == Approx(bound * bound / 3.).epsilon(0.05));
}

TEST_CASE("normal initial values have their deviation, and tails", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("conv1.weight", {32, 33, 3, 3}, Initializer::normal_fan_out(32 * 9), true);
  parameters.add("bn1.weight", {7}, Initializer::constant(1.f), false);
  parameters.allocate(1);
  CHECK(to_host(device, parameters[1].value) == std::vector<float>(7, 1.f));
  const std::vector<float> values = to_host(device, parameters[0].value);
  const double deviation = std::sqrt(2. / 288.);
  const auto count = static_cast<double>(values.size());
  double sum = 0., squares = 0., fourth = 0.;
  for (const float value : values) {
    const double z = static_cast<double>(value) / deviation;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  // Within five standard errors.
  CHECK(std::abs(sum / count) < 5. / std::sqrt(count));
  CHECK(squares / count == Approx(1.).margin(5. * std::sqrt(2. / count)));
  CHECK(fourth / count == Approx(3.).margin(5. * std::sqrt(96. / count)));
}

TEST_CASE("buffers lie beside the parameters, by name", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("a.weight", {3}, Initializer::fan_in(5), true);
  CHECK(parameters.add_buffer("a.running_mean", {3}, 0.f) == 0);
  CHECK(parameters.add_buffer("a.running_var", {3}, 1.f) == 1);
  CHECK_THROWS_AS(parameters.add_buffer("a.weight", {3}, 1.f), lockstep::Error);
  CHECK_THROWS_AS(parameters.add("a.running_var", {3}, {}, true), lockstep::Error);
  parameters.allocate(1);
  CHECK_THROWS_AS(parameters.add_buffer("late", {3}, 1.f), lockstep::Error);
  CHECK(parameters.element_count() == 3);
  CHECK(parameters.find("a.running_var") == nullptr);
  CHECK(to_host(device, parameters.buffer_values()) == std::vector<float>{0, 0, 0, 1, 1, 1});
  device.fill(2.f, parameters.buffers()[0].value);
  CHECK(to_host(device, parameters.buffer_values()) == std::vector<float>{2, 2, 2, 1, 1, 1});
}

TEST_CASE("values and state are exported and imported by parameter", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("a", {2, 3}, Initializer::fan_in(1), true);
  parameters.add("b", {5}, Initializer::fan_in(1), true);
  parameters.allocate(1);
  std::vector<float> before(5);
  parameters.export_values(1, before);
  parameters.import_values(0, std::vector<float>{1, 2, 3, 4, 5, 6});
  std::vector<float> after(6);
  parameters.export_values(0, after);
  CHECK(after == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(to_host(device, parameters[1].value) == before);
  CHECK_THROWS_AS(parameters.import_values(0, before), lockstep::Error);

  const std::vector<Tensor> state{device.zeros(parameters.groups()[0].values.shape())};
  device.fill(2.f, parameters[0].slice_of(state));
  CHECK(lockstep::test::sum_of_squares(device, state[0]) == 24.);
}
