#include "train/learner.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "models/registry.h"
#include "nn/softmax_cross_entropy.h"
#include "nn/tape.h"
#include "optim/gradient_norm.h"

namespace lockstep::train {

namespace {

device::Shape batch_shape(std::int64_t size, const std::vector<std::int64_t>& sample_shape) {
  std::vector<std::int64_t> shape{size};
  shape.insert(shape.end(), sample_shape.begin(), sample_shape.end());
  return device::Shape(shape);
}

std::vector<std::int64_t> extents(const device::Shape& shape) {
  const auto sizes = shape.sizes();
  return {sizes.begin(), sizes.end()};
}

}  // namespace

Learner::Learner(const Config& config, int threads, const std::vector<std::int64_t>& sample_shape,
                 std::int64_t classes)
    : seed_(config.run.seed),
      sample_shape_(sample_shape),
      device_(std::make_unique<device::CpuDevice>(threads)) {
  const models::ModelOptions model{config.model.hidden, config.model.channels, config.model.dropout};
  model_ = models::make_model(config.model.name, model, sample_shape, classes, seed_, *device_);
  const optim::OptimizerOptions optimizer{config.optim.momentum, config.optim.weight_decay};
  optimizer_ = optim::make_optimizer(config.optim.name, optimizer, model_->parameters());
}

Learner::Inputs Learner::upload(const data::Batch& batch) const {
  Inputs inputs{device_->empty(batch_shape(batch.size, sample_shape_)),
                device_->empty(device::Shape{batch.size}, device::DType::i64)};
  device_->upload(std::span<const float>(batch.x), inputs.x);
  const std::vector<std::int64_t> labels(batch.y.begin(), batch.y.end());
  device_->upload(std::span<const std::int64_t>(labels), inputs.labels);
  return inputs;
}

BatchResult Learner::train(const data::Batch& batch, std::int64_t step, bool accumulate) {
  std::optional<Span> span(std::in_place, trace_, "forward", "compute");
  const Inputs inputs = upload(batch);
  nn::Tape tape(model_->parameters(), {true, seed_, step, batch.ids});
  const nn::Variable logits = model_->forward(tape, tape.input(inputs.x));
  const device::LossSum sum = nn::softmax_cross_entropy(tape, logits, inputs.labels);
  span.emplace(trace_, "backward", "compute");
  tape.backward({accumulate, {}});
  return {sum.loss, sum.correct};
}

BatchResult Learner::evaluate(const data::Batch& batch) {
  const Span span(trace_, "forward", "compute");
  const Inputs inputs = upload(batch);
  nn::Tape tape(model_->parameters(), {false, seed_, 0, batch.ids});
  const nn::Variable logits = model_->forward(tape, tape.input(inputs.x));
  const device::LossSum sum = nn::softmax_cross_entropy(tape, logits, inputs.labels);
  return {sum.loss, sum.correct};
}

std::vector<std::span<float>> Learner::gradients() {
  std::vector<std::span<float>> spans;
  for (const nn::ParameterGroup& group : model_->parameters().groups()) {
    spans.emplace_back(group.gradients.f32(), static_cast<std::size_t>(group.gradients.count()));
  }
  return spans;
}

void Learner::zero_gradients() {
  for (const nn::ParameterGroup& group : model_->parameters().groups()) device_->fill(0.f, group.gradients);
}

double Learner::gradient_norm(double gradient_scale) const {
  return optim::gradient_norm(model_->parameters(), gradient_scale);
}

void Learner::update(double learning_rate, double gradient_scale) {
  optimizer_->step({learning_rate, gradient_scale});
}

std::vector<Learner::Named> Learner::state_tensors() const {
  std::vector<Named> tensors;
  for (const nn::Parameter& parameter : model_->parameters().all()) {
    tensors.push_back({fmt::format("model/{}", parameter.name), parameter.value});
  }
  for (const optim::OptimizerState& state : optimizer_->state()) {
    for (const nn::Parameter& parameter : model_->parameters().all()) {
      tensors.push_back(
          {fmt::format("optimizer/{}/{}", state.name, parameter.name), parameter.slice_of(state.buffers)});
    }
  }
  return tensors;
}

Learner::Snapshot Learner::snapshot() const {
  Snapshot snapshot;
  for (const Named& named : state_tensors()) {
    snapshot.infos_.push_back({named.name, extents(named.tensor.shape())});
    auto& values = snapshot.values_.emplace_back(static_cast<std::size_t>(named.tensor.count()));
    device_->download(named.tensor, values);
  }
  return snapshot;
}

void Learner::restore(const Snapshot& snapshot) {
  const auto tensors = state_tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    device_->upload(std::span<const float>(snapshot.values_[i]), tensors[i].tensor);
  }
}

std::vector<checkpoint::TensorView> Learner::Snapshot::views() {
  std::vector<checkpoint::TensorView> views;
  for (std::size_t i = 0; i < infos_.size(); ++i) {
    views.push_back({infos_[i].name, infos_[i].shape, values_[i].data()});
  }
  return views;
}

std::int64_t Learner::Snapshot::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& values : values_) bytes += static_cast<std::int64_t>(values.size() * sizeof(float));
  return bytes;
}

std::int64_t Learner::parameter_count() const {
  return model_->parameters().element_count();
}

std::string Learner::environment() const {
  return device_->description();
}

}  // namespace lockstep::train
