// The losses: sums, gradients, and what becomes of ties, invalid labels and NaN.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

struct Result {
  std::vector<double> sums;
  std::vector<float> gradient;
};

struct Loss {
  std::vector<std::int64_t> labels;  // empty: mean squared error against targets
  Values targets;
  double smoothing = 0.;

  Result operator()(Device& device, const Values& outputs, float scale = 1.f,
                    bool with_gradient = true) const {
    const Tensor x = on_device(device, outputs);
    const Tensor dx = with_gradient ? unwritten(device, outputs.shape, outputs.dtype) : Tensor();
    const Tensor sums = device.empty({3}, DType::f64);
    if (labels.empty()) {
      device.mean_squared_error(x, in_f32(device, targets), scale, dx, sums);
    } else {
      const Tensor label = device.empty({static_cast<std::int64_t>(labels.size())}, DType::i64);
      device.upload(labels, label);
      device.softmax_cross_entropy(x, label, smoothing, scale, dx, sums);
    }
    return {from_device_f64(device, sums), dx ? from_device(device, dx) : std::vector<float>{}};
  }
};

Values in_type(const Values& values, DType dtype) {
  return {values.shape, dtype, values.host};
}

// Values of the type, gradients with rounding to it; sums in f64 but for the order.
void check_against_cpu(const Trial& trial, const Loss& loss, const Values& outputs, float scale) {
  CpuDevice reference;
  const Result wanted = loss(reference, in_type(outputs, DType::f32), scale);
  Result got;
  repeated(trial, [&] {
    got = loss(*trial.device, outputs, scale);
    std::vector<float> bits = got.gradient;
    // The sum's bits too: high part, and what f32 leaves of it.
    const auto high = static_cast<float>(got.sums[0]);
    bits.push_back(high);
    bits.push_back(static_cast<float>(got.sums[0] - static_cast<double>(high)));
    return bits;
  });
  CHECK(got.sums[0] == Approx(wanted.sums[0]).epsilon(1e-12).margin(1e-12));
  CHECK(got.sums[1] == wanted.sums[1]);
  CHECK(got.sums[2] == wanted.sums[2]);
  check_near(got.gradient, wanted.gradient, {trial.dtype, 4, std::vector<float>(got.gradient.size(), scale)});
  CHECK(loss(*trial.device, outputs, scale, false).sums == got.sums);
}

// Central differences of the f64 sum in f32 inputs.
void check_differences(const Trial& trial, const Loss& loss, const Values& outputs) {
  if (trial.dtype != DType::f32) return;
  const std::vector<float> gradient = loss(*trial.device, outputs).gradient;
  constexpr float step = 0x1p-9f;
  for (std::size_t i = 0; i < outputs.host.size(); ++i) {
    Values above = outputs, below = outputs;
    above.host[i] += step;
    below.host[i] -= step;
    const double difference =
        (loss(*trial.device, above, 1.f, false).sums[0] - loss(*trial.device, below, 1.f, false).sums[0]) /
        (static_cast<double>(above.host[i]) - static_cast<double>(below.host[i]));
    INFO("element " << i);
    CHECK(static_cast<double>(gradient[i]) == Approx(difference).margin(1e-5).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("cross-entropy on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("softmax_cross_entropy")));
  // One class, few, more than a block has threads; many samples.
  const auto [samples, classes] = GENERATE(std::pair<std::int64_t, std::int64_t>(1, 1), std::pair(5, 10),
                                           std::pair(3, 300), std::pair(600, 3));
  const double smoothing = GENERATE(0., 0.1, 1.);
  INFO(trial << ", [" << samples << ", " << classes << "], smoothing " << smoothing);
  const Loss loss{random_labels(samples, classes, 1), {}, smoothing};
  check_against_cpu(trial, loss, random_values({samples, classes}, trial.dtype, 2, 8.f), 0.5f);
}

TEST_CASE("mean squared error on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("mean_squared_error")));
  const auto [samples, width] = GENERATE(std::pair<std::int64_t, std::int64_t>(1, 1), std::pair(5, 3),
                                         std::pair(2, 300), std::pair(600, 1));
  INFO(trial << ", [" << samples << ", " << width << "]");
  const Shape shape{samples, width};
  const Loss loss{{}, random_values(shape, DType::f32, 3), 0.};
  check_against_cpu(trial, loss, random_values(shape, trial.dtype, 4), 2.f);
}

TEST_CASE("gradients of the losses by differences on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("softmax_cross_entropy")));
  INFO(trial);
  const double smoothing = GENERATE(0., 0.3);
  check_differences(trial, {random_labels(3, 5, 5), {}, smoothing},
                    random_values({3, 5}, DType::f32, 6, 3.f));
  check_differences(trial, {{}, random_values({3, 5}, DType::f32, 7), 0.},
                    random_values({3, 5}, DType::f32, 8));
}

TEST_CASE("ties, invalid labels and NaN in cross-entropy on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("softmax_cross_entropy")));
  INFO(trial);
  Device& device = *trial.device;
  const auto of = [&](std::vector<float> logits, std::int64_t label) {
    const Shape shape{1, static_cast<std::int64_t>(logits.size())};
    return Loss{{label}, {}, 0.}(device, values_of(shape, trial.dtype, std::move(logits)));
  };
  SECTION("ties go to the lowest class, also where another thread has it") {
    std::vector<float> logits(300, -1.f);
    logits[140] = logits[12] = logits[299] = 2.f;
    CHECK(of(logits, 12).sums[1] == 1.);
    CHECK(of(logits, 140).sums[1] == 0.);
    CHECK(of({0.f, 0.f}, 0).sums[1] == 1.);
    CHECK(of({-infinity, -infinity, 0.f}, 2).sums[1] == 1.);
  }
  SECTION("an invalid label counts nowhere else") {
    for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{3}}) {
      const Result result = of({1.f, 2.f, 3.f}, label);
      CHECK(result.sums == std::vector<double>{0., 0., 1.});
      CHECK(result.gradient == std::vector<float>(3, 0.f));
    }
    const Tensor sums = device.empty({3}, DType::f64), labels = device.empty({1}, DType::i64);
    device.upload(std::vector<std::int64_t>{7}, labels);
    device.softmax_cross_entropy(on_device(device, random_values({1, 3}, trial.dtype, 1)), labels, 0., 1.f,
                                 {}, sums);
    CHECK_THROWS_AS(device.read_loss(sums), Error);
  }
  SECTION("NaN and infinity reach loss and gradient, and are never correct") {
    for (const std::size_t at : {0u, 1u, 2u}) {
      for (const float value : {not_a_number, infinity}) {
        std::vector<float> logits{0.f, 5.f, 1.f};
        logits[at] = value;
        const Result result = of(logits, 1);
        INFO(value << " at " << at);
        CHECK(std::isnan(result.sums[0]));
        CHECK(result.sums[1] == 0.);
        for (const float slope : result.gradient) CHECK(std::isnan(slope));
      }
    }
    CHECK(of({0.f, -infinity}, 1).sums[0] == static_cast<double>(infinity));
  }
}
