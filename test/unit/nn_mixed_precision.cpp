// What layers and parameters do where a network is computed in 16 bits. The arithmetic of operations:
// device_ops_*.cpp; whole trainings: train_oracle.cpp.
#include <catch2/catch.hpp>
#include <cmath>

#include "device_under_test.h"
#include "gradient_check.h"
#include "models/registry.h"
#include "nn/linear.h"
#include "nn/softmax_cross_entropy.h"
#include "optim/weight_average.h"

using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using lockstep::models::make_model;
using lockstep::nn::Linear;
using lockstep::nn::Parameter;
using lockstep::nn::ParameterSet;
using lockstep::nn::Tape;
using lockstep::optim::WeightAverage;
using lockstep::test::devices;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

std::vector<float> in_f32(Device& device, const Tensor& tensor) {
  const Tensor wide = device.empty(tensor.shape());
  device.cast(tensor, wide);
  return to_host(device, wide);
}

}  // namespace

TEST_CASE("weights have a copy in the type of the computation that follows them", "[nn][mixed]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const Linear linear(parameters, "fc", 2, 1);
  parameters.allocate(1, DType::bf16);
  const Parameter& weight = parameters[0];
  CHECK(weight.value.dtype() == DType::f32);
  CHECK(weight.gradient.dtype() == DType::f32);
  REQUIRE(weight.compute.dtype() == DType::bf16);
  parameters.import_values(0, std::vector<float>{1.f + 0x1p-8f, -1.f - 0x3p-8f});
  CHECK(in_f32(device, weight.compute) == std::vector<float>{1.f, -1.f - 0x1p-6f});

  WeightAverage average(0.5, parameters);
  parameters.import_values(0, std::vector<float>{3.f, 3.f});
  {
    const WeightAverage::InUse in_use(average);
    CHECK(in_f32(device, parameters[0].compute) == std::vector<float>{1.f, -1.f - 0x1p-6f});
  }
  CHECK(in_f32(device, parameters[0].compute) == std::vector<float>{3.f, 3.f});

  ParameterSet plain(device);
  const Linear same(plain, "fc", 2, 1);
  plain.allocate(1);
  CHECK(plain[0].compute.data() == plain[0].value.data());
}

TEST_CASE("gradients in 16 bits are near those in f32, and carry the loss scale", "[nn][mixed]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::string model = GENERATE("mlp", "cnn", "resnet");
  const DType dtype = GENERATE(DType::bf16, DType::f16);
  INFO(model << " in " << name_of(dtype));
  const std::vector<std::int64_t> sample{3, 8, 8};
  const std::vector<std::int64_t> ids{0, 1, 2, 3, 4, 5};
  const std::vector<std::int64_t> classes{0, 1, 2, 3, 0, 1};
  const auto gradient = [&](DType compute, float loss_scale) {
    const auto net =
        make_model(model, {.hidden = {}, .channels = {}, .dropout = 0.25}, sample, 4, 1, device, compute);
    Tape tape(net->parameters(), {true, 1, 0, ids, loss_scale});
    Tensor x = pattern_tensor(device, {6, 3, 8, 8}, 1, 4.f);
    if (compute != DType::f32) {
      const Tensor narrow = device.empty(x.shape(), compute);
      device.cast(x, narrow);
      x = narrow;
    }
    const auto logits = net->forward(tape, tape.input(x));
    CHECK(logits.value.dtype() == compute);
    const Tensor labels = device.empty({6}, DType::i64);
    device.upload(std::span<const std::int64_t>(classes), labels);
    device.read_loss(lockstep::nn::softmax_cross_entropy(tape, logits, labels));
    tape.backward();
    return to_host(device, net->parameters().gradients());
  };
  const auto apart = [](const std::vector<float>& a, const std::vector<float>& b, float scale) {
    double difference = 0., norm = 0.;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(static_cast<double>(a[i]) / scale - b[i], 2);
      norm += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(difference / norm);
  };
  // A ReLU near 0 that takes the other side moves the gradient of six samples by tenths.
  CHECK(apart(gradient(dtype, 256.f), gradient(DType::f32, 1.f), 256.f) < 0.3);
  // Without a limit of the exponent, a power of two comes out as it went in.
  if (dtype == DType::bf16) CHECK(apart(gradient(dtype, 256.f), gradient(dtype, 1.f), 256.f) == 0.);
}
