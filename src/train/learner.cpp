#include "train/learner.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "core/error.h"
#include "models/registry.h"
#include "nn/batch_norm2d.h"
#include "nn/tape.h"
#include "optim/gradient_norm.h"
#include "train/identity.h"

namespace lockstep::train {

namespace {

// In a checkpoint and in the hash of the state.
constexpr const char* loss_scale_key = "loss_scale";
constexpr const char* good_steps_key = "loss_scale_good_steps";

device::Shape batch_shape(std::int64_t size, const std::vector<std::int64_t>& sample_shape) {
  std::vector<std::int64_t> shape{size};
  shape.insert(shape.end(), sample_shape.begin(), sample_shape.end());
  return device::Shape(shape);
}

std::vector<std::int64_t> extents(const device::Shape& shape) {
  const auto sizes = shape.sizes();
  return {sizes.begin(), sizes.end()};
}

device::Activation activation_of(const std::string& name) {
  return name == "gelu" ? device::Activation::gelu : device::Activation::relu;
}

// What a GPU's memory is used for.
constexpr device::MemoryPurpose parameters_use{"parameters and gradients",
                                               "use a smaller model, or a GPU with more memory"};
constexpr device::MemoryPurpose optimizer_use{
    "the optimizer's state", "use optim.name = sgd, a smaller model, or a GPU with more memory"};
constexpr device::MemoryPurpose average_use{"the weights' average",
                                            "set optim.ema_decay = 0, or use a smaller model"};
constexpr device::MemoryPurpose training_use{"activations of a micro-batch",
                                             "use a smaller train.micro_batch or train.precision = bf16"};
constexpr device::MemoryPurpose evaluation_use{"activations of an evaluation", "use a smaller eval.batch"};

// One sample's label or target.
device::Tensor target_of(const device::Tensor& targets, std::int64_t row) {
  if (!targets) return {};
  std::vector<std::int64_t> shape = extents(targets.shape());
  shape[0] = 1;
  const std::int64_t width = device::Shape(shape).count();
  return targets.slice(row * width, device::Shape(shape));
}

}  // namespace

device::DType compute_type(const Config::Train& config) {
  if (config.precision == "bf16") return device::DType::bf16;
  return config.precision == "fp16" ? device::DType::f16 : device::DType::f32;
}

Learner::Learner(const Config& config, std::unique_ptr<device::Device> device,
                 const std::vector<std::int64_t>& sample_shape, std::int64_t outputs)
    : seed_(config.run.seed),
      sample_shape_(sample_shape),
      device_(std::move(device)),
      objective_(config.train),
      initial_loss_scale_(config.train.loss_scale, config.train.loss_scale_growth) {
  const models::ModelOptions model{config.model.hidden, config.model.channels, config.model.dropout,
                                   config.model.depth, activation_of(config.model.activation)};
  const device::MemoryUse parameters(*device_, parameters_use);
  model_ = models::make_model(config.model.name, model, sample_shape, outputs, seed_, *device_,
                              compute_type(config.train));
  const optim::OptimizerOptions optimizer{config.optim.momentum, config.optim.weight_decay,
                                          config.optim.beta1, config.optim.beta2, config.optim.eps};
  const device::MemoryUse state(*device_, optimizer_use);
  optimizer_ = optim::make_optimizer(config.optim.name, optimizer, model_->parameters());
  const device::MemoryUse average(*device_, average_use);
  if (config.optim.ema_decay > 0) average_.emplace(config.optim.ema_decay, model_->parameters());
  if (precision() == device::DType::f16) loss_scale_ = initial_loss_scale_;
}

void Learner::check_micro_batches(std::int64_t micro_batch, std::int64_t samples) const {
  // An epoch's last micro-batch has what is left (data/sampler.h).
  const std::int64_t rest = samples % micro_batch;
  const std::int64_t smallest = rest > 0 ? rest : micro_batch;
  if (samples == 0 || smallest >= model_->least_batch()) return;
  throw Error(
      ExitCode::bad_config,
      fmt::format("train.micro_batch = {} leaves a micro-batch of {} of the {} training samples, and "
                  "batch normalisation on images of this size needs {}: use another train.micro_batch",
                  micro_batch, smallest, samples, model_->least_batch()));
}

Learner::Sent Learner::send(const data::Batch& batch) const {
  return {device_->send(std::span<const float>(batch.x), batch_shape(batch.size, sample_shape_)),
          objective_.send_targets(*device_, batch)};
}

void Learner::await(const Sent& sent) const {
  if (sent.x) device_->receive(sent.x);
  if (sent.targets) device_->receive(sent.targets);
}

device::Tensor Learner::input_of(const Sent& sent) const {
  await(sent);
  if (precision() == device::DType::f32) return sent.x;
  device::Tensor narrow = device_->empty(sent.x.shape(), precision());
  device_->cast(sent.x, narrow);
  return narrow;
}

Trained Learner::train(const data::Batch& batch, const Sent& sent, std::int64_t step, bool accumulate,
                       const std::function<void(std::size_t)>& on_gradient_final) {
  const device::MemoryUse use(*device_, training_use);
  std::optional<Span> span(std::in_place, trace_, "forward", "compute");
  nn::Tape tape(model_->parameters(),
                {true, seed_, step, batch.ids, static_cast<float>(loss_scale().value_or(1.))});
  const nn::Variable outputs = model_->forward(tape, tape.input(input_of(sent)));
  const device::Tensor sums = objective_(tape, outputs, sent.targets);
  span.emplace(trace_, "backward", "compute");
  tape.backward({accumulate, on_gradient_final});
  return {sums, tape.statistics()};
}

device::LossSum Learner::evaluate(const data::Batch& batch) {
  const device::MemoryUse use(*device_, evaluation_use);
  const Span span(trace_, "forward", "compute");
  std::optional<optim::WeightAverage::InUse> averaged;
  if (average_) averaged.emplace(*average_);
  nn::Tape tape(model_->parameters(), {false, seed_, 0, batch.ids});
  const Sent sent = send(batch);
  const nn::Variable outputs = model_->forward(tape, tape.input(input_of(sent)));
  return device_->read_loss(objective_(tape, outputs, sent.targets));
}

std::vector<double> Learner::sample_losses(const data::Batch& batch, std::int64_t step, bool training) {
  nn::Tape tape(model_->parameters(), {training, seed_, step, batch.ids});
  const Sent sent = send(batch);
  const device::Tensor outputs = model_->forward(tape, tape.input(input_of(sent))).value;
  const std::int64_t width = outputs.count() / batch.size;
  nn::Tape of_rows(model_->parameters(), {training, seed_, step, {}});
  std::vector<double> losses;
  for (std::int64_t row = 0; row < batch.size; ++row) {
    const nn::Variable output = of_rows.input(outputs.slice(row * width, device::Shape{1, width}));
    losses.push_back(device_->read_loss(objective_(of_rows, output, target_of(sent.targets, row))).loss);
  }
  return losses;
}

std::vector<comm::Slice> Learner::gradient_slices() const {
  const nn::ParameterSet& parameters = model_->parameters();
  std::vector<comm::Slice> slices;
  for (const nn::Parameter& parameter : parameters.all()) {
    slices.push_back(
        {parameters.groups()[parameter.group].first + parameter.offset, parameter.shape.count()});
  }
  return slices;
}

std::int64_t Learner::statistic_count() const {
  const device::Tensor& buffers = model_->parameters().buffer_values();
  return buffers ? buffers.count() : 0;
}

void Learner::read_statistics(const Trained& trained, std::span<float> values) const {
  device_->download(trained.statistics, values);
}

void Learner::absorb_statistics(std::span<const float> values) {
  const device::Tensor one = device_->empty(model_->parameters().buffer_values().shape());
  device_->upload(values, one);
  nn::update_running_statistics(model_->parameters(), one);
}

std::optional<double> Learner::loss_scale() const {
  return loss_scale_ ? std::optional(loss_scale_->value()) : std::nullopt;
}

std::string Learner::meet_overflow(double norm) {
  if (!loss_scale_ || std::isfinite(norm) || !loss_scale_->reject()) return {};
  return fmt::format("gradients have overflowed; the loss scale falls from {} to {}",
                     2. * loss_scale_->value(), loss_scale_->value());
}

double Learner::gradient_norm(double gradient_scale) const {
  return optim::gradient_norm(model_->parameters(), gradient_scale / loss_scale().value_or(1.));
}

void Learner::update(double learning_rate, double gradient_scale) {
  ++updates_;
  optimizer_->step({learning_rate, gradient_scale / loss_scale().value_or(1.), updates_});
  model_->parameters().refresh_compute();
  if (loss_scale_) loss_scale_->accept();
  if (average_) average_->update();
}

std::vector<Learner::Named> Learner::state_tensors() const {
  std::vector<Named> tensors;
  for (const nn::Parameter& parameter : model_->parameters().all()) {
    tensors.push_back({fmt::format("model/{}", parameter.name), parameter.value});
  }
  for (const nn::Buffer& buffer : model_->parameters().buffers()) {
    tensors.push_back({fmt::format("model/{}", buffer.name), buffer.value});
  }
  for (const optim::OptimizerState& state : optimizer_->state()) {
    for (const nn::Parameter& parameter : model_->parameters().all()) {
      tensors.push_back(
          {fmt::format("optimizer/{}/{}", state.name, parameter.name), parameter.slice_of(state.buffers)});
    }
  }
  if (average_) {
    for (const nn::Parameter& parameter : model_->parameters().all()) {
      tensors.push_back({fmt::format("ema/{}", parameter.name), parameter.slice_of(average_->buffers())});
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

void Learner::restore(const Snapshot& snapshot, std::int64_t updates) {
  updates_ = updates;
  const auto tensors = state_tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    device_->upload(std::span<const float>(snapshot.values_[i]), tensors[i].tensor);
  }
  model_->parameters().refresh_compute();
  if (loss_scale_) loss_scale_ = initial_loss_scale_;
}

void Learner::write(checkpoint::State& state) const {
  if (!loss_scale_) return;
  state.values[loss_scale_key] = loss_scale_->value();
  state.values[good_steps_key] = loss_scale_->good_steps();
}

void Learner::read(const checkpoint::State& state) {
  if (!loss_scale_ || !state.values.contains(loss_scale_key)) return;
  loss_scale_->restore(real_value(state, loss_scale_key), int_value(state, good_steps_key));
}

StateHash Learner::state_hash() const {
  std::vector<StateHash::Part> parts{{"updates", static_cast<std::uint64_t>(updates_)}};
  if (loss_scale_) {
    parts.push_back({loss_scale_key, std::bit_cast<std::uint64_t>(loss_scale_->value())});
    parts.push_back({good_steps_key, static_cast<std::uint64_t>(loss_scale_->good_steps())});
  }
  for (const Named& named : state_tensors()) parts.push_back({named.name, hash_of(*device_, named.tensor)});
  return whole_of(std::move(parts));
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
  const std::string arithmetic = device_->arithmetic(precision());
  return arithmetic.empty() ? device_->description()
                            : fmt::format("{} {}", device_->description(), arithmetic);
}

}  // namespace lockstep::train
