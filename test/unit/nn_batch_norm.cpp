#include "nn/batch_norm2d.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"

using lockstep::Error;
using lockstep::device::Activation;
using lockstep::device::ChannelMoments;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using lockstep::nn::BatchNorm2d;
using lockstep::nn::Buffer;
using lockstep::nn::ForwardContext;
using lockstep::nn::ParameterSet;
using lockstep::nn::Tape;
using lockstep::nn::Variable;
using lockstep::test::check_gradients;
using lockstep::test::devices;
using lockstep::test::pattern;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

const ForwardContext training{.training = true, .seed = 1, .step = 0, .sample_ids = {}};

struct Moments {
  double mean = 0., variance = 0.;  // biased
};

// In f64, two passes.
std::vector<Moments> moments_of(const std::vector<float>& x, std::size_t channels) {
  std::vector<Moments> all(channels);
  const auto n = static_cast<double>(x.size() / channels);
  for (std::size_t i = 0; i < x.size(); ++i) all[i % channels].mean += static_cast<double>(x[i]) / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    all[i % channels].variance += std::pow(static_cast<double>(x[i]) - all[i % channels].mean, 2.) / n;
  }
  return all;
}

std::vector<float> add(std::vector<float> values, float offset) {
  for (float& value : values) value += offset;
  return values;
}

}  // namespace

TEST_CASE("gradients of batch normalisation", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto activation = GENERATE(Activation::none, Activation::relu);
  const std::int64_t channels = GENERATE(1, 5, 16, 19);
  const bool with_residual = GENERATE(false, true);
  ParameterSet parameters(device);
  const BatchNorm2d norm(parameters, "bn", channels);
  parameters.allocate(4);
  for (const auto& parameter : parameters.all()) {
    device.upload(add(pattern(channels, static_cast<std::int64_t>(parameter.index) + 7), 0.75f),
                  parameter.value);
  }
  const Tensor x = pattern_tensor(device, {2, 3, 4, channels}, 2, 8.f);
  check_gradients(parameters, training, x, [&](Tape& tape, const Variable& v) {
    // The residual is x itself, so that its gradient is checked in the sum.
    return with_residual ? norm(tape, v, v, activation) : norm(tape, v, activation);
  });
}

TEST_CASE("batch normalisation in training uses the moments of the micro-batch", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::int64_t channels = GENERATE(3, 16, 33);
  // More than one chunk of pixels, and a mean far from 0, which f32 sums would not survive.
  const Shape shape{5, 17, 13, channels};
  const std::vector<float> host = add(pattern(shape.count(), 3), 300.f);
  const Tensor x = device.empty(shape);
  device.upload(host, x);
  ParameterSet parameters(device);
  const BatchNorm2d norm(parameters, "bn", channels);
  parameters.allocate(1);
  Tape tape(parameters, training);
  const std::vector<float> y = to_host(device, norm(tape, tape.input(x)).value);
  const std::vector<Moments> wanted = moments_of(host, static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < y.size(); i += 97) {
    const Moments& m = wanted[i % wanted.size()];
    const double value = (static_cast<double>(host[i]) - m.mean) / std::sqrt(m.variance + 1e-5);
    // The mean itself is rounded to f32: 300 * 2^-24 of a deviation of 0.29.
    REQUIRE(y[i] == Approx(value).margin(1e-4));
  }

  // What the tape records, and what becomes of the running ones: unbiased, a tenth of the way each time.
  const double n = 5. * 17. * 13.;
  lockstep::nn::update_running_statistics(parameters, tape.statistics());
  lockstep::nn::update_running_statistics(parameters, tape.statistics());
  REQUIRE(parameters.buffers().size() == 2);
  CHECK(parameters.buffers()[0].name == "bn.running_mean");
  CHECK(parameters.buffers()[1].name == "bn.running_var");
  const std::vector<float> mean = to_host(device, parameters.buffers()[0].value);
  const std::vector<float> variance = to_host(device, parameters.buffers()[1].value);
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    CHECK(mean[c] == Approx(0.19 * wanted[c].mean).epsilon(1e-6));
    CHECK(variance[c] == Approx(0.81 + 0.19 * wanted[c].variance * n / (n - 1.)).epsilon(1e-6));
  }
}

TEST_CASE("the moments have the same bits on any number of threads", "[nn]") {
  const Shape shape{3, 40, 40, 24};
  const auto run = [&](int threads) {
    CpuDevice device(threads);
    const Tensor x = pattern_tensor(device, shape, 5, 3.f);
    const Tensor mean = device.empty({24});
    const Tensor variance = device.empty({24});
    device.channel_moments(x, mean, variance);
    return std::pair(to_host(device, mean), to_host(device, variance));
  };
  CHECK(run(1) == run(2));
}

TEST_CASE("batch normalisation in evaluation uses the running statistics", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const BatchNorm2d norm(parameters, "bn", 2);
  parameters.allocate(1);
  device.upload(std::vector<float>{1.f, -2.f}, parameters.buffers()[0].value);
  device.upload(std::vector<float>{4.f, 0.25f}, parameters.buffers()[1].value);
  device.upload(std::vector<float>{3.f, 1.f}, parameters.find("bn.weight")->value);
  device.upload(std::vector<float>{0.5f, -1.f}, parameters.find("bn.bias")->value);
  const Tensor x = device.empty({1, 1, 2, 2});
  device.upload(std::vector<float>{3.f, -1.f, -1.f, -2.f}, x);
  Tape tape(parameters, {});
  const Variable y = norm(tape, tape.input(x));
  const std::vector<float> host = to_host(device, y.value);
  CHECK(host[0] == Approx(3.5f).epsilon(1e-5));
  CHECK(host[1] == Approx(1.f).epsilon(1e-4));
  CHECK(host[2] == Approx(-2.5f).epsilon(1e-5));
  CHECK(host[3] == Approx(-1.f));
  CHECK_FALSE(tape.statistics());
  const Variable cut = norm(tape, tape.input(x), tape.input(x), Activation::relu);
  CHECK(to_host(device, cut.value)[0] == Approx(6.5f).epsilon(1e-5));
  CHECK(to_host(device, cut.value)[2] == 0.f);
}

TEST_CASE("a constant channel and NaN pass through batch normalisation", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const BatchNorm2d norm(parameters, "bn", 1);
  parameters.allocate(1);
  const Tensor x = device.empty({1, 1, 3, 1});
  const float value = GENERATE(0.1f, std::nanf(""));
  device.upload(std::vector<float>{0.1f, value, 0.1f}, x);
  Tape tape(parameters, training);
  const std::vector<float> y = to_host(device, norm(tape, tape.input(x), Activation::relu).value);
  if (std::isnan(value)) {
    CHECK(std::isnan(y[0]));
  } else {
    CHECK(y[0] == Approx(0.f).margin(1e-4));
  }
}

TEST_CASE("batch normalisation refuses one value per channel, and one layer twice in a pass", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  const BatchNorm2d norm(parameters, "layer4.0.bn1", 4);
  parameters.allocate(1);
  Tape tape(parameters, training);
  const Variable single = tape.input(device.zeros({1, 1, 1, 4}));
  try {
    norm(tape, single);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == lockstep::ExitCode::bad_config);
    CHECK_THAT(error.what(), Catch::Contains("layer4.0.bn1") && Catch::Contains("train.micro_batch"));
  }
  Tape evaluation(parameters, {});
  CHECK_NOTHROW(norm(evaluation, evaluation.input(device.zeros({1, 1, 1, 4}))));
  const Variable pair = tape.input(device.zeros({2, 1, 1, 4}));
  norm(tape, pair);
  CHECK_THROWS_AS(norm(tape, pair), Error);
}
