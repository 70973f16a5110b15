#include "nn/tape.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "nn/linear.h"
#include "nn/relu.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::Tensor;
using lockstep::nn::Linear;
using lockstep::nn::Parameter;
using lockstep::nn::ParameterSet;
using lockstep::nn::Tape;
using lockstep::nn::Variable;
using lockstep::test::check_gradients;
using lockstep::test::devices;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

const lockstep::nn::ForwardContext training{.training = true, .seed = 1, .step = 0, .sample_ids = {}};

}  // namespace

TEST_CASE("a layer used twice collects both gradients and is final once", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const Linear shared(parameters, "shared", 4, 4);
  const Linear last(parameters, "last", 4, 2);
  parameters.allocate(1);
  const Tensor x = pattern_tensor(device, {3, 4}, 1);
  const auto forward = [&](Tape& tape, const Variable& v) {
    return last(tape, shared(tape, shared(tape, v)));
  };
  check_gradients(parameters, training, x, forward);

  Tape tape(parameters, training);
  const Variable y = forward(tape, tape.input(x));
  tape.add_gradient(y, pattern_tensor(device, {3, 2}, 2));
  std::vector<std::string> order;
  std::vector<float> weight_when_final;
  tape.backward({.accumulate = false, .on_gradient_final = [&](std::size_t index) {
                   order.push_back(parameters[index].name);
                   if (order.back() == "shared.weight")
                     weight_when_final = to_host(device, parameters[index].gradient);
                 }});
  CHECK(order == std::vector<std::string>{"last.bias", "last.weight", "shared.bias", "shared.weight"});
  CHECK(weight_when_final == to_host(device, parameters.find("shared.weight")->gradient));
}

TEST_CASE("a value used twice collects both gradients", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(1);
  Tape tape(parameters, training);
  const Tensor ones = device.empty({2, 3});
  device.fill(1.f, ones);
  const Variable x = tape.input(ones, true);
  const Variable inner = lockstep::nn::relu(tape, x);
  for (const float value : {2.f, 5.f}) {
    const Tensor gradient = device.empty({2, 3});
    device.fill(value, gradient);
    tape.add_gradient(lockstep::nn::relu(tape, inner), gradient);
  }
  tape.backward();
  CHECK(to_host(device, tape.gradient(x)) == std::vector<float>(6, 7.f));
}

TEST_CASE("parameters that forward does not use are final, with a zero gradient", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const Linear unused(parameters, "unused", 3, 2);
  const Linear used(parameters, "used", 4, 2);
  const Linear discarded(parameters, "discarded", 4, 2);
  parameters.allocate(1);
  const bool accumulate = GENERATE(false, true);
  const Tensor stale = parameters.find("unused.weight")->gradient;
  device.fill(3.f, stale);
  Tape tape(parameters, training);
  const Variable x = tape.input(pattern_tensor(device, {3, 4}, 1));
  discarded(tape, x);
  tape.add_gradient(used(tape, x), pattern_tensor(device, {3, 2}, 2));
  std::vector<int> announced(parameters.size());
  tape.backward(
      {.accumulate = accumulate, .on_gradient_final = [&](std::size_t index) { ++announced[index]; }});
  CHECK(announced == std::vector<int>(parameters.size(), 1));
  CHECK(to_host(device, stale) == std::vector<float>(6, accumulate ? 3.f : 0.f));
}

TEST_CASE("an evaluation and a replayed tape refuse backward", "[nn]") {
  CpuDevice device;
  ParameterSet parameters(device);
  parameters.allocate(1);
  Tape evaluation(parameters, {});
  CHECK_THROWS_AS(evaluation.backward(), lockstep::Error);
  Tape twice(parameters, training);
  twice.backward();
  CHECK_THROWS_AS(twice.backward(), lockstep::Error);
}
