#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/philox.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "nn/conv2d.h"
#include "nn/dropout.h"
#include "nn/flatten.h"
#include "nn/linear.h"
#include "nn/max_pool2d.h"
#include "nn/relu.h"
#include "nn/softmax_cross_entropy.h"

using lockstep::Error;
using lockstep::device::Activation;
using lockstep::device::Conv2dOptions;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::LossSum;
using lockstep::device::Shape;
using lockstep::device::Tensor;
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

std::vector<std::int64_t> ids_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

}  // namespace

TEST_CASE("gradients of linear", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto activation = GENERATE(Activation::none, Activation::relu, Activation::gelu);
  const std::int64_t batch = GENERATE(1, 7, 16);
  const auto [in, out] = GENERATE(std::pair(5, 3), std::pair(17, 16));
  ParameterSet parameters(device);
  const lockstep::nn::Linear linear(parameters, "fc", in, out);
  parameters.allocate(3);
  check_gradients(parameters, training, pattern_tensor(device, {batch, in}, 1),
                  [&](Tape& tape, const Variable& x) { return linear(tape, x, activation); });
}

TEST_CASE("gradients of conv2d", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  struct Case {
    std::int64_t batch, height, width, in, out, kernel;
    Conv2dOptions options;
  };
  const auto activation = GENERATE(Activation::none, Activation::relu);
  const Case c = GENERATE(Case{1, 5, 6, 1, 16, 3, {1, 1}},  // the kernel for first layers
                          Case{3, 4, 5, 1, 5, 3, {1, 0}}, Case{2, 7, 5, 3, 4, 3, {2, 1}},
                          Case{1, 3, 3, 16, 16, 3, {1, 1}}, Case{3, 5, 4, 2, 3, 1, {1, 0}});
  ParameterSet parameters(device);
  const lockstep::nn::Conv2d conv(parameters, "conv", c.in, c.out, c.kernel, c.options);
  parameters.allocate(4);
  check_gradients(parameters, training, pattern_tensor(device, {c.batch, c.height, c.width, c.in}, 2, 2.f),
                  [&](Tape& tape, const Variable& x) { return conv(tape, x, activation); });
}

TEST_CASE("gradients of max_pool2d", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto activation = GENERATE(Activation::none, Activation::relu);
  const std::int64_t channels = GENERATE(1, 5, 16, 19);
  const auto [batch, height, width, size] =
      GENERATE(std::array<std::int64_t, 4>{1, 4, 6, 2}, std::array<std::int64_t, 4>{3, 5, 3, 2},
               std::array<std::int64_t, 4>{2, 7, 6, 3});
  ParameterSet parameters(device);
  parameters.allocate(0);
  check_gradients(parameters, training, pattern_tensor(device, {batch, height, width, channels}, 3, 8.f),
                  [&, size = size](Tape& tape, const Variable& x) {
                    return lockstep::nn::max_pool2d(tape, x, size, activation);
                  });
}

TEST_CASE("max_pool2d with relu equals relu before pooling", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const Tensor x = pattern_tensor(device, {3, 5, 6, 19}, 4);
  Tape tape(parameters, training);
  const Variable input = tape.input(x, true);
  const Variable fused = lockstep::nn::max_pool2d(tape, input, 2, Activation::relu);
  CHECK(to_host(device, fused.value) ==
        to_host(device, lockstep::nn::max_pool2d(tape, lockstep::nn::relu(tape, input), 2).value));
}

TEST_CASE("gradients of relu, flatten and dropout", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const std::int64_t batch = GENERATE(1, 3);
  const std::vector<std::int64_t> ids = ids_from(40, batch);
  const ForwardContext context{.training = true, .seed = 9, .step = 2, .sample_ids = ids};
  const Tensor x = pattern_tensor(device, {batch, 3, 2, 23}, 5, 4.f);
  check_gradients(parameters, context, x,
                  [](Tape& tape, const Variable& v) { return lockstep::nn::relu(tape, v); });
  check_gradients(parameters, context, x,
                  [](Tape& tape, const Variable& v) { return lockstep::nn::flatten(tape, v); });
  check_gradients(parameters, context, x,
                  [](Tape& tape, const Variable& v) { return lockstep::nn::dropout(tape, v, 0.3); });
}

TEST_CASE("flatten has PyTorch's order", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  Tape tape(parameters, {});
  const Tensor image = device.empty({1, 1, 2, 3});  // two pixels of three channels
  device.upload(std::vector<float>{1, 2, 3, 4, 5, 6}, image);
  const Variable flat = lockstep::nn::flatten(tape, tape.input(image));
  CHECK(flat.value.shape() == Shape{1, 6});
  CHECK(to_host(device, flat.value) == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("softmax cross-entropy: value, gradient, count", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const Tensor logits = device.empty({3, 3});
  const std::vector<float> host{0, 0, 0, 1, 2, 3, 1000, -1000, 0};
  device.upload(host, logits);
  const Tensor labels = device.empty({3}, DType::i64);
  device.upload(std::vector<std::int64_t>{1, 2, 1}, labels);
  Tape tape(parameters, training);
  const Variable input = tape.input(logits, true);
  const LossSum loss = device.read_loss(lockstep::nn::softmax_cross_entropy(tape, input, labels));
  const double second = std::log(std::exp(-2.) + std::exp(-1.) + 1.);
  CHECK(loss.loss == Approx(std::log(3.) + second + 2000.).epsilon(1e-12));
  CHECK(loss.correct == 1);  // the tie of the first row goes to class 0
  const std::vector<float> gradient = to_host(device, tape.gradient(input));
  CHECK(gradient[0] == Approx(1. / 3.));
  CHECK(gradient[1] == Approx(-2. / 3.));
  // Central differences in f64 of the second row's loss, step 1e-4; tolerance 1e-6.
  const auto loss_of = [](std::array<double, 3> z) {
    return std::log(std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2])) - z[2];
  };
  for (std::size_t j = 0; j < 3; ++j) {
    std::array<double, 3> above{1, 2, 3}, below{1, 2, 3};
    above[j] += 1e-4;
    below[j] -= 1e-4;
    CHECK(gradient[3 + j] == Approx((loss_of(above) - loss_of(below)) / 2e-4).margin(1e-6));
  }
  SECTION("a label out of range is bad data") {
    device.upload(std::vector<std::int64_t>{1, 3, 1}, labels);
    const Tensor sums = lockstep::nn::softmax_cross_entropy(tape, tape.input(logits), labels);
    CHECK_THROWS_AS(device.read_loss(sums), Error);
  }
  SECTION("NaN reaches the loss and is never correct") {
    std::vector<float> diverged = host;
    diverged[3] = std::nanf("");
    device.upload(diverged, logits);
    const LossSum bad =
        device.read_loss(lockstep::nn::softmax_cross_entropy(tape, tape.input(logits), labels));
    CHECK(std::isnan(bad.loss));
    CHECK(bad.correct == 0);
  }
}

TEST_CASE("NaN survives relu and pooling", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const std::int64_t channels = GENERATE(1, 16);
  std::vector<float> host = pattern(4 * channels, 6);
  const std::size_t at = GENERATE(0u, 3u) * static_cast<std::size_t>(channels);
  host[at] = std::nanf("");
  const Tensor image = device.empty({1, 2, 2, channels});
  device.upload(host, image);
  Tape tape(parameters, {});
  const Variable x = tape.input(image);
  CHECK(std::isnan(to_host(device, lockstep::nn::relu(tape, x).value)[at]));
  CHECK(std::isnan(to_host(device, lockstep::nn::max_pool2d(tape, x, 2, Activation::relu).value)[0]));
}

TEST_CASE("dropout depends on sample, step, layer and seed, not on the batch", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const std::int64_t features = GENERATE(1, 127, 300);
  const std::vector<std::int64_t> ids{5, 3'000'000'000'000, 7, 8, 9};
  const Tensor ones = device.empty({5, features});
  device.fill(1.f, ones);
  const auto run = [&](std::span<const std::int64_t> batch, std::uint64_t seed, std::int64_t step, int skip) {
    Tape tape(parameters, {.training = true, .seed = seed, .step = step, .sample_ids = batch});
    for (int i = 0; i < skip; ++i) tape.next_dropout_layer();
    const Tensor x = ones.slice(0, {static_cast<std::int64_t>(batch.size()), features});
    return to_host(device, lockstep::nn::dropout(tape, tape.input(x), 0.25).value);
  };
  const std::vector<float> whole = run(ids, 1, 2, 0);
  std::vector<float> parts = run(std::span(ids).first(2), 1, 2, 0);
  const std::vector<float> rest = run(std::span(ids).subspan(2), 1, 2, 0);
  parts.insert(parts.end(), rest.begin(), rest.end());
  CHECK(parts == whole);
  if (features == 1) return;  // too few draws to differ for sure
  CHECK(run(ids, 2, 2, 0) != whole);
  CHECK(run(ids, 1, 3, 0) != whole);
  CHECK(run(ids, 1, 2 + (std::int64_t{1} << 32), 0) != whole);
  CHECK(run(ids, 1, 2, 1) != whole);
  for (const float value : whole) CHECK((value == 0.f || value == Approx(4. / 3.)));
}

TEST_CASE("dropout draws what its documentation says from Philox", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::int64_t features = 300;
  const std::int64_t id = 0x0000'1234'89ab'cdef;
  const lockstep::device::DropoutKey key{.seed = 11, .step = 0x3'0000'0005, .layer = 6, .probability = 0.25};
  const Tensor x = device.zeros({1, features});
  const Tensor mask = device.empty({1, features}, DType::u8);
  device.dropout_forward(x, key, std::span(&id, 1), device.empty({1, features}), mask);
  std::vector<std::uint8_t> kept(static_cast<std::size_t>(features));
  device.download(mask, std::span<std::uint8_t>(kept));
  const std::uint64_t philox_key = lockstep::PhiloxStream::mix(11, lockstep::Purpose::dropout);
  for (std::int64_t j = 0; j < features; ++j) {
    const std::int64_t r = j % 128;
    const auto block = static_cast<std::uint32_t>(j / 128 * 16 + r % 16);
    const lockstep::PhiloxBlock words =
        lockstep::philox(philox_key, {block, 0x5, 0x89abcdef, 0x1234u | 6u << 16 | 3u << 28});
    const std::uint32_t draw = words[static_cast<std::size_t>(r / 16 % 4)] >> (r < 64 ? 0 : 16) & 0xffffu;
    INFO("element " << j);
    CHECK(static_cast<int>(kept[static_cast<std::size_t>(j)]) == (draw >= 16384 ? 1 : 0));
  }
}

TEST_CASE("dropout keeps the mean and is the identity in evaluation", "[nn]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.allocate(0);
  const std::vector<std::int64_t> ids = ids_from(0, 64);
  const Tensor ones = device.empty({64, 1000});
  device.fill(1.f, ones);
  Tape training_tape(parameters, {.training = true, .seed = 1, .step = 0, .sample_ids = ids});
  const double probability = GENERATE(0.1, 0.5, 0.9);
  const std::vector<float> dropped =
      to_host(device, lockstep::nn::dropout(training_tape, training_tape.input(ones), probability).value);
  const double mean = std::accumulate(dropped.begin(), dropped.end(), 0.) / 64000.;
  // Five standard deviations.
  CHECK(mean == Approx(1.).margin(5. * std::sqrt(probability / (1. - probability) / 64000.)));
  Tape evaluation(parameters, {});
  CHECK(to_host(device, lockstep::nn::dropout(evaluation, evaluation.input(ones), probability).value) ==
        to_host(device, ones));
}

TEST_CASE("layers refuse images that do not fit", "[nn]") {
  CpuDevice device;
  ParameterSet parameters(device);
  const lockstep::nn::Conv2d conv(parameters, "conv1", 1, 2, 3, {});
  parameters.allocate(0);
  Tape tape(parameters, {});
  CHECK_THROWS_AS(conv(tape, tape.input(device.zeros({1, 2, 2, 1}))), Error);
  CHECK_THROWS_AS(conv(tape, tape.input(device.zeros({1, 9}))), Error);
  CHECK_THROWS_AS(lockstep::nn::max_pool2d(tape, tape.input(device.zeros({1, 1, 4, 1})), 2), Error);
}
