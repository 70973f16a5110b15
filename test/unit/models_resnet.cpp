#include "../fixtures/reference_values.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"
#include "gradient_check.h"
#include "models/registry.h"
#include "nn/batch_norm2d.h"
#include "nn/softmax_cross_entropy.h"

using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using lockstep::models::make_model;
using lockstep::models::Model;
using lockstep::models::ModelOptions;
using lockstep::nn::Parameter;
using lockstep::nn::Tape;
using lockstep::test::devices;
using lockstep::test::pattern;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

namespace {

ModelOptions of_depth(std::int64_t depth) {
  return {.hidden = {}, .channels = {}, .dropout = 0., .depth = depth};
}

void refuses(std::int64_t depth, const std::vector<std::int64_t>& shape, const std::string& text) {
  CpuDevice device;
  try {
    make_model("resnet", of_depth(depth), shape, 10, 1, device);
    FAIL("accepted");
  } catch (const lockstep::Error& error) {
    CHECK(error.code() == lockstep::ExitCode::bad_config);
    CHECK_THAT(error.what(), Catch::Contains(text));
  }
}

}  // namespace

TEST_CASE("residual networks have the published numbers of parameters", "[models]") {
  CpuDevice device;
  const auto [depth, side, classes, parameters, buffers] =
      GENERATE(std::array<std::int64_t, 5>{20, 32, 10, 269722, 1376},
               std::array<std::int64_t, 5>{56, 32, 10, 853018, 4064},
               std::array<std::int64_t, 5>{18, 224, 1000, 11689512, 9600},
               std::array<std::int64_t, 5>{34, 224, 1000, 21797672, 17024});
  const std::unique_ptr<Model> model =
      make_model("resnet", of_depth(depth), std::vector<std::int64_t>{3, side, side}, classes, 1, device);
  CHECK(model->parameters().element_count() == parameters);
  CHECK(model->parameters().buffer_values().count() == buffers);
}

TEST_CASE("parameters of residual networks have torchvision's names, and no decay where none belongs",
          "[models]") {
  CpuDevice device;
  const std::unique_ptr<Model> model =
      make_model("resnet", of_depth(18), std::vector<std::int64_t>{3, 32, 32}, 10, 1, device);
  const auto& parameters = model->parameters();
  for (const char* name :
       {"conv1.weight", "bn1.weight", "layer1.0.conv1.weight", "layer1.1.bn2.bias",
        "layer2.0.downsample.0.weight", "layer2.0.downsample.1.bias", "fc.weight", "fc.bias"}) {
    INFO(name);
    CHECK(parameters.find(name) != nullptr);
  }
  for (const char* name : {"conv1.bias", "layer1.0.downsample.0.weight", "layer2.1.downsample.0.weight"}) {
    INFO(name);
    CHECK(parameters.find(name) == nullptr);
  }
  for (const Parameter& parameter : parameters.all()) {
    INFO(parameter.name);
    CHECK(parameter.weight_decay == (parameter.shape.rank() > 1));
  }
  std::set<std::string> buffers;
  for (const auto& buffer : parameters.buffers()) buffers.insert(buffer.name);
  CHECK(buffers.size() == 40);
  CHECK(buffers.count("layer1.0.bn1.running_mean") == 1);
  CHECK(buffers.count("layer4.0.downsample.1.running_var") == 1);
}

TEST_CASE("loss, gradients and evaluation of resnet18 are PyTorch's", "[models]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::unique_ptr<Model> model =
      make_model("resnet", of_depth(18), std::vector<std::int64_t>{3, 64, 64}, 10, 1, device);
  std::vector<const Parameter*> by_name;
  for (const Parameter& parameter : model->parameters().all()) by_name.push_back(&parameter);
  std::sort(by_name.begin(), by_name.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t k = 0; k < by_name.size(); ++k) {
    const Parameter& parameter = *by_name[k];
    std::vector<float> values = pattern(parameter.shape.count(), static_cast<std::int64_t>(k), 0.25f);
    if (parameter.shape.rank() == 1 && parameter.name.ends_with("weight")) {
      for (float& value : values) value += 1.f;
    }
    device.upload(values, parameter.value);
  }
  const Tensor x = pattern_tensor(device, {6, 3, 64, 64}, 100);
  const Tensor labels = device.empty({6}, DType::i64);
  device.upload(std::vector<std::int64_t>{0, 3, 6, 9, 2, 5}, labels);
  Tape tape(model->parameters(), {.training = true, .seed = 1, .step = 0, .sample_ids = {}});
  const auto sum = device.read_loss(
      lockstep::nn::softmax_cross_entropy(tape, model->forward(tape, tape.input(x)), labels));
  CHECK(sum.loss == Approx(lockstep::test::resnet18_reference.loss).epsilon(1e-5));
  tape.backward();
  for (const auto& wanted : lockstep::test::resnet18_reference.gradients) {
    INFO(wanted.parameter);
    const Parameter* parameter = model->parameters().find(wanted.parameter);
    REQUIRE(parameter != nullptr);
    const std::vector<float> gradient = to_host(device, parameter->gradient);
    const std::vector<float> weights = pattern(parameter->shape.count(), 200);
    double squares = 0., product = 0.;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      squares += static_cast<double>(gradient[i]) * gradient[i];
      product += static_cast<double>(gradient[i]) * weights[i];
    }
    // f32 against f64, through twenty normalisations: seen to be within 7e-6.
    CHECK(std::sqrt(squares) == Approx(wanted.norm).epsilon(5e-5));
    CHECK(product == Approx(wanted.pattern_product).margin(5e-5 * wanted.norm));
  }
  lockstep::nn::update_running_statistics(model->parameters(), tape.statistics());
  Tape evaluation(model->parameters(), {});
  const auto evaluated = device.read_loss(lockstep::nn::softmax_cross_entropy(
      evaluation, model->forward(evaluation, evaluation.input(x)), labels));
  CHECK(evaluated.loss == Approx(lockstep::test::resnet18_evaluation).epsilon(1e-5));
}

TEST_CASE("residual networks evaluate a sample alike in any batch", "[models]") {
  Device& device = *GENERATE(from_range(devices()));
  const std::int64_t depth = GENERATE(20, 18);
  const std::vector<std::int64_t> shape{3, 33, 35};
  const std::unique_ptr<Model> model = make_model("resnet", of_depth(depth), shape, 10, 1, device);
  const Tensor x = pattern_tensor(device, {5, 3, 33, 35}, 4, 2.f);
  {
    // Running statistics that are not those of the start.
    Tape tape(model->parameters(), {.training = true, .seed = 1, .step = 0, .sample_ids = {}});
    model->forward(tape, tape.input(x));
    lockstep::nn::update_running_statistics(model->parameters(), tape.statistics());
  }
  const auto logits = [&](std::int64_t first, std::int64_t count) {
    Tape tape(model->parameters(), {});
    const Tensor part = x.slice(first * 3 * 33 * 35, {count, 3, 33, 35});
    return to_host(device, model->forward(tape, tape.input(part)).value);
  };
  const std::vector<float> whole = logits(0, 5);
  std::vector<float> parts = logits(0, 1);
  for (const auto& [first, count] : {std::pair(1, 3), std::pair(4, 1)}) {
    const std::vector<float> part = logits(first, count);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  REQUIRE(parts.size() == whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i)
    CHECK(parts[i] == Approx(whole[i]).margin(1e-4).epsilon(1e-5));
}

TEST_CASE("a residual network repeats its bits", "[models]") {
  const std::vector<std::int64_t> shape{3, 16, 16};
  const auto run = [&](Device& device, bool disturb) {
    const std::unique_ptr<Model> model = make_model("resnet", of_depth(20), shape, 10, 1, device);
    const Tensor labels = device.empty({6}, DType::i64);
    device.upload(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}, labels);
    std::vector<float> result;
    for (int i = disturb ? 0 : 1; i < 2; ++i) {
      Tape tape(model->parameters(), {.training = true, .seed = 1, .step = 0, .sample_ids = {}});
      const Tensor x = pattern_tensor(device, {6, 3, 16, 16}, 4 + i, 2.f);
      lockstep::nn::softmax_cross_entropy(tape, model->forward(tape, tape.input(x)), labels);
      tape.backward();
      result = to_host(device, tape.statistics());
    }
    for (const Parameter& parameter : model->parameters().all()) {
      const std::vector<float> gradient = to_host(device, parameter.gradient);
      result.insert(result.end(), gradient.begin(), gradient.end());
    }
    return result;
  };
  Device& device = *GENERATE(from_range(devices()));
  CHECK(run(device, false) == run(device, true));
  CpuDevice fresh(2), used(2);
  CHECK(run(fresh, false) == run(used, true));
}

TEST_CASE("residual networks refuse depths and images that do not fit", "[models]") {
  refuses(21, {3, 32, 32}, "model.depth = 21: there is resnet 20, 32, 44, 56 and 110");
  refuses(18, {3, 28, 32}, "at least 32 x 32");
  refuses(20, {3, 28, 3}, "at least 4 x 4");
  refuses(20, {784}, "model resnet needs images");
}

TEST_CASE("only images that shrink to one pixel ask for more than one sample", "[models]") {
  CpuDevice device;
  const auto least = [&](std::int64_t depth, const std::vector<std::int64_t>& shape) {
    return make_model("resnet", of_depth(depth), shape, 10, 1, device)->least_batch();
  };
  CHECK(least(18, {3, 32, 32}) == 2);
  CHECK(least(18, {3, 32, 33}) == 1);
  CHECK(least(20, {4, 4}) == 2);
  CHECK(least(20, {28, 28}) == 1);
}
