#include "../fixtures/reference_values.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "models/registry.h"
#include "nn/softmax_cross_entropy.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::LossSum;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using lockstep::models::make_model;
using lockstep::models::Model;
using lockstep::models::ModelOptions;
using lockstep::nn::Parameter;
using lockstep::nn::Tape;
using lockstep::test::devices;
using lockstep::test::pattern;
using lockstep::test::Reference;
using lockstep::test::ReferenceGradient;
using lockstep::test::to_host;

namespace {

double product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

struct Batch {
  Tensor x, y;
  std::vector<std::int64_t> ids;
};

// The samples first..first+count-1 of the fixture's batch.
Batch make_batch(Device& device, std::span<const std::int64_t> sample_shape, std::int64_t first,
                 std::int64_t count) {
  std::vector<std::int64_t> sizes{count};
  sizes.insert(sizes.end(), sample_shape.begin(), sample_shape.end());
  const std::int64_t features = Shape(sample_shape).count();
  Batch batch{device.empty(Shape(sizes)), device.empty({count}, DType::i64), {}};
  const std::vector<float> values = pattern((first + count) * features, 100);
  device.upload(std::span(values).subspan(static_cast<std::size_t>(first * features)), batch.x);
  std::vector<std::int64_t> labels;
  for (std::int64_t i = first; i < first + count; ++i) {
    labels.push_back(i * 3 % 10);
    batch.ids.push_back(i);
  }
  device.upload(labels, batch.y);
  return batch;
}

LossSum train(Model& model, const Batch& batch, bool accumulate) {
  Tape tape(model.parameters(), {.training = true, .seed = 3, .step = 1, .sample_ids = batch.ids});
  const Tensor sums =
      lockstep::nn::softmax_cross_entropy(tape, model.forward(tape, tape.input(batch.x)), batch.y);
  tape.backward({.accumulate = accumulate, .on_gradient_final = {}});
  return tape.device().read_loss(sums);
}

std::vector<std::vector<float>> gradients(Device& device, const Model& model) {
  std::vector<std::vector<float>> all;
  for (const Parameter& parameter : model.parameters().all())
    all.push_back(to_host(device, parameter.gradient));
  return all;
}

void compare(Device& device, const Reference& reference, std::string_view name, const ModelOptions& options,
             const std::vector<std::int64_t>& sample_shape, std::int64_t n, float scale) {
  const std::unique_ptr<Model> model = make_model(name, options, sample_shape, 10, 1, device);
  for (const Parameter& parameter : model->parameters().all()) {
    const auto k = static_cast<std::int64_t>(parameter.index);
    device.upload(pattern(parameter.shape.count(), k, scale), parameter.value);
  }
  CHECK(train(*model, make_batch(device, sample_shape, 0, n), false).loss ==
        Approx(reference.loss).epsilon(1e-6));
  REQUIRE(model->parameters().size() == reference.gradients.size());
  for (const ReferenceGradient& wanted : reference.gradients) {
    INFO(wanted.parameter);
    const Parameter* parameter = model->parameters().find(wanted.parameter);
    REQUIRE(parameter != nullptr);
    const std::vector<float> gradient = to_host(device, parameter->gradient);
    // f32 against f64: 1e-5 of the norm, the scale on which rounding adds up.
    CHECK(std::sqrt(product(gradient, gradient)) == Approx(wanted.norm).epsilon(1e-5));
    CHECK(product(gradient, pattern(parameter->shape.count(), 200)) ==
          Approx(wanted.pattern_product).margin(1e-5 * wanted.norm));
  }
}

}  // namespace

TEST_CASE("losses and gradients of the models are PyTorch's", "[models]") {
  Device& device = *GENERATE(from_range(devices()));
  SECTION("mlp on 5 x 7 images") {
    compare(device, lockstep::test::mlp_reference, "mlp", {.hidden = {24, 12}, .channels = {}, .dropout = 0.},
            {5, 7}, 7, 0.5f);
  }
  SECTION("mlp with GELU on 5 x 7 images") {
    compare(
        device, lockstep::test::gelu_mlp_reference, "mlp",
        {.hidden = {24, 12}, .channels = {}, .dropout = 0., .activation = lockstep::device::Activation::gelu},
        {5, 7}, 7, 0.5f);
  }
  SECTION("cnn on 14 x 14 images") {
    compare(device, lockstep::test::cnn_reference, "cnn",
            {.hidden = {20}, .channels = {16, 32}, .dropout = 0.}, {14, 14}, 5, 0.25f);
  }
  SECTION("cnn on 3 x 9 x 11 images") {
    compare(device, lockstep::test::colour_cnn_reference, "cnn",
            {.hidden = {20}, .channels = {5, 7}, .dropout = 0.}, {3, 9, 11}, 5, 0.25f);
  }
}

TEST_CASE("micro-batches add up to the whole batch, dropout on", "[models]") {
  Device& device = *GENERATE(from_range(devices()));
  const auto name = GENERATE("mlp", "cnn");
  const std::vector<std::int64_t> shape{12, 12};
  const std::unique_ptr<Model> model =
      make_model(name, {.hidden = {20}, .channels = {4, 8}, .dropout = 0.3}, shape, 10, 1, device);
  const LossSum whole = train(*model, make_batch(device, shape, 0, 7), false);
  const std::vector<std::vector<float>> wanted = gradients(device, *model);
  const LossSum first = train(*model, make_batch(device, shape, 0, 4), false);
  const LossSum second = train(*model, make_batch(device, shape, 4, 3), true);
  CHECK(first.loss + second.loss == Approx(whole.loss).epsilon(1e-6));
  CHECK(first.correct + second.correct == whole.correct);
  const std::vector<std::vector<float>> got = gradients(device, *model);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    INFO(model->parameters()[i].name);
    for (std::size_t j = 0; j < wanted[i].size(); ++j) CHECK(got[i][j] == Approx(wanted[i][j]).margin(1e-5));
  }
}

TEST_CASE("the same computation has the same bits, whatever ran before", "[models]") {
  const std::vector<std::int64_t> shape{28, 28};
  const auto run = [&](Device& device, bool disturb) {
    const std::unique_ptr<Model> model = make_model("cnn", {}, shape, 10, 1, device);
    std::vector<Tensor> in_the_way;
    if (disturb) {
      // Other addresses, other shapes, other primitives.
      for (std::int64_t i = 1; i < 20; ++i) in_the_way.push_back(device.empty({i * 1000}));
      train(*model, make_batch(device, shape, 3, 5), false);
    }
    const LossSum loss = train(*model, make_batch(device, shape, 0, 16), false);
    return std::pair(loss.loss, gradients(device, *model));
  };
  Device& device = *GENERATE(from_range(devices()));
  CHECK(run(device, false) == run(device, true));
  CpuDevice fresh(2), used(2);
  CHECK(run(fresh, false) == run(used, true));
}

TEST_CASE("after the first steps no memory is asked from the system", "[models]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::vector<std::int64_t> shape{28, 28};
  const std::unique_ptr<Model> model = make_model("cnn", {}, shape, 10, 1, device);
  train(*model, make_batch(device, shape, 0, 8), false);
  train(*model, make_batch(device, shape, 0, 8), true);
  const std::int64_t before = device.pool().system_allocations();
  for (int i = 0; i < 3; ++i) train(*model, make_batch(device, shape, i * 8, 8), i > 0);
  CHECK(device.pool().system_allocations() == before);
}

TEST_CASE("models refuse what cannot work", "[models]") {
  CpuDevice device;
  const auto refuses = [&](std::string_view name, const ModelOptions& options,
                           std::vector<std::int64_t> shape, std::int64_t classes, const std::string& text) {
    try {
      make_model(name, options, shape, classes, 1, device);
      FAIL("accepted");
    } catch (const lockstep::Error& error) {
      CHECK(error.code() == lockstep::ExitCode::bad_config);
      CHECK_THAT(error.what(), Catch::Contains(text));
    }
  };
  refuses("cn", {}, {28, 28}, 10, "did you mean 'cnn'");
  refuses("cnn", {}, {784}, 10, "choose model mlp");
  refuses("cnn", {}, {3, 3}, 10, "too small to be halved 2 times");
  refuses("mlp", {.hidden = {0}, .channels = {}, .dropout = 0.}, {784}, 10, "at least 1");
  refuses("mlp", {.hidden = {}, .channels = {}, .dropout = 1.}, {784}, 10, "model.dropout");
  refuses("mlp", {}, {784}, 0, "at least 1 class or number to predict");
  refuses("mlp", {}, {}, 10, "at least one value");
}
