#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "device_under_test.h"
#include "gradient_check.h"
#include "nn/mean_squared_error.h"
#include "nn/softmax_cross_entropy.h"

using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using lockstep::nn::ForwardContext;
using lockstep::nn::ParameterSet;
using lockstep::nn::Tape;
using lockstep::nn::Variable;
using lockstep::test::devices;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

const ForwardContext training{.training = true, .seed = 1, .step = 0, .sample_ids = {}};

using Loss = std::function<double(Tape&, const Variable&)>;

// Central differences of the loss, which is computed in f64 from f32 outputs; the step is exact in f32.
void check_loss_gradient(Device& device, const Tensor& outputs, const Loss& loss) {
  ParameterSet parameters(device);
  parameters.allocate(0);
  Tape tape(parameters, training);
  const Variable input = tape.input(outputs, true);
  (void)loss(tape, input);
  const std::vector<float> gradient = to_host(device, tape.gradient(input));
  std::vector<float> host = to_host(device, outputs);
  constexpr float step = 0x1p-9f;
  const auto at = [&](std::size_t i, float value) {
    const float original = std::exchange(host[i], value);
    device.upload(host, outputs);
    Tape evaluation(parameters, {});
    const double result = loss(evaluation, evaluation.input(outputs));
    host[i] = original;
    return result;
  };
  for (std::size_t i = 0; i < host.size(); ++i) {
    const double difference = (at(i, host[i] + step) - at(i, host[i] - step)) / (2. * step);
    INFO("element " << i);
    CHECK(gradient[i] == Approx(difference).margin(1e-5).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("label smoothing: value by hand, gradient by differences", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const Tensor logits = device.empty({1, 3});
  device.upload(std::vector<float>{1.f, 2.f, 4.f}, logits);
  const Tensor label = device.empty({1}, DType::i64);
  device.upload(std::vector<std::int64_t>{1}, label);
  const double log_sum = std::log(std::exp(1.) + std::exp(2.) + std::exp(4.));
  Tape tape(parameters, {});
  const auto loss = [&](double smoothing) {
    return device.read_loss(lockstep::nn::softmax_cross_entropy(tape, tape.input(logits), label, smoothing))
        .loss;
  };
  CHECK(loss(0.) == Approx(log_sum - 2.).epsilon(1e-12));
  CHECK(loss(0.3) == Approx(log_sum - 0.7 * 2. - 0.1 * (1. + 2. + 4.)).epsilon(1e-12));
  CHECK(loss(1.) == Approx(log_sum - 7. / 3.).epsilon(1e-12));

  const Tensor labels = device.empty({4}, DType::i64);
  device.upload(std::vector<std::int64_t>{0, 3, 4, 3}, labels);
  const double smoothing = GENERATE(0., 0.1, 1.);
  check_loss_gradient(device, pattern_tensor(device, {4, 5}, 7, 4.f), [&](Tape& t, const Variable& x) {
    return device.read_loss(lockstep::nn::softmax_cross_entropy(t, x, labels, smoothing)).loss;
  });
}

TEST_CASE("mean squared error: value by hand, gradient by differences", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const Tensor predictions = device.empty({2, 2});
  device.upload(std::vector<float>{1.f, 2.f, 3.f, 4.f}, predictions);
  const Tensor targets = device.empty({2, 2});
  device.upload(std::vector<float>{0.f, 4.f, 3.f, 1.f}, targets);
  Tape tape(parameters, {});
  CHECK(device.read_loss(lockstep::nn::mean_squared_error(tape, tape.input(predictions), targets)).loss ==
        (1. + 4.) / 2. + (0. + 9.) / 2.);

  const std::int64_t width = GENERATE(1, 3);
  const Tensor wanted = pattern_tensor(device, {5, width}, 8);
  check_loss_gradient(device, pattern_tensor(device, {5, width}, 9, 4.f), [&](Tape& t, const Variable& x) {
    return device.read_loss(lockstep::nn::mean_squared_error(t, x, wanted)).loss;
  });
}
