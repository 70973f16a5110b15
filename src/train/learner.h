// The model, its optimizer and the device that they live on: what one rank computes by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "comm/bucket_plan.h"
#include "core/trace.h"
#include "data/batch.h"
#include "device/device.h"
#include "models/model.h"
#include "optim/loss_scale.h"
#include "optim/optimizer.h"
#include "optim/weight_average.h"
#include "train/config.h"
#include "train/objective.h"
#include "train/state_hash.h"

namespace lockstep::train {

// The type that a network is computed in.
device::DType compute_type(const Config::Train& config);

// What a training pass over a micro-batch leaves on the device, which may still be at work on it.
struct Trained {
  device::Tensor sums;        // Device::read_loss
  device::Tensor statistics;  // of batch normalisation, Learner::statistic_count() numbers; else empty
};

class Learner {
 public:
  // Lives on `device`. `sample_shape` as the shards have it: [features], [height, width] or [channels,
  // height, width]. `outputs`: numbers that the model puts out for each sample, Dataset::outputs(). Throws
  // Error(bad_config) where the model does not fit the data.
  Learner(const Config& config, std::unique_ptr<device::Device> device,
          const std::vector<std::int64_t>& sample_shape, std::int64_t outputs);

  // Throws Error(bad_config) where a micro-batch of an epoch of `samples` would be too small for the model.
  void check_micro_batches(std::int64_t micro_batch, std::int64_t samples) const;

  // From here on forward and backward passes are in the trace; null: not.
  void set_trace(Trace* trace) { trace_ = trace; }

  // A batch's tensors, which the device may still be fetching (Device::send).
  struct Sent {
    device::Tensor x;        // f32
    device::Tensor targets;  // as the objective has them
  };
  Sent send(const data::Batch& batch) const;
  // What the device is given from now on comes behind their arrival, as train() does by itself. Of a batch
  // without samples there is nothing to wait for.
  void await(const Sent& sent) const;

  // Forward and backward of one micro-batch, which was sent, at `step` (steps done before it). The gradient
  // of the SUM of the losses, times the loss scale, replaces the gradients or, with `accumulate`, is added to
  // them. `on_gradient_final` as for nn::BackwardOptions.
  Trained train(const data::Batch& batch, const Sent& sent, std::int64_t step, bool accumulate,
                const std::function<void(std::size_t parameter)>& on_gradient_final = {});
  Trained train(const data::Batch& batch, std::int64_t step, bool accumulate,
                const std::function<void(std::size_t parameter)>& on_gradient_final = {}) {
    return train(batch, send(batch), step, accumulate, on_gradient_final);
  }

  // Waits for the device. Throws Error(bad_data) where a label is no class of the model.
  device::LossSum read_loss(const Trained& trained) const { return device_->read_loss(trained.sums); }

  // What train() records for the model's running statistics, so many numbers; 0 for a model without.
  // absorb_statistics() moves the running ones by one micro-batch's.
  std::int64_t statistic_count() const;
  void read_statistics(const Trained& trained, std::span<float> values) const;
  void absorb_statistics(std::span<const float> values);

  // Of the weights' average where there is one (optim.ema_decay), without label smoothing.
  device::LossSum evaluate(const data::Batch& batch);

  // Whether results count right answers.
  bool counts_correct() const { return objective_.counts_correct(); }
  // The loss of each sample of a micro-batch, forward only: in training exactly as train() computes it, the
  // effect of the samples on each other included; else as evaluate() does.
  std::vector<double> sample_losses(const data::Batch& batch, std::int64_t step, bool training);

  // Where the gradients are, one flat tensor, and where each parameter's lie in it. use_gradients() puts
  // another one of the same size in its place.
  const device::Tensor& gradients() const { return model_->parameters().gradients(); }
  std::vector<comm::Slice> gradient_slices() const;
  void use_gradients(const device::Tensor& flat) { model_->parameters().use_gradients(flat); }
  device::Device& device() const { return *device_; }

  // fp16: the factor of the loss, which the norm and the update take out again; none in other types.
  std::optional<double> loss_scale() const;
  // What happened where `norm`, that of the whole step, shows that gradients have overflowed because of the
  // loss scale: it was halved, and the step makes no update. Else empty, and nothing has happened.
  std::string meet_overflow(double norm);

  // L2 norm over all gradients times `gradient_scale`.
  double gradient_norm(double gradient_scale) const;

  // One optimizer step with gradients times `gradient_scale`; the weights' average follows.
  void update(double learning_rate, double gradient_scale);
  // The updates made since the start of the run: fewer than the steps where some were skipped.
  std::int64_t updates() const { return updates_; }

  // Every tensor of the state by its name in the checkpoint, copied to the host.
  class Snapshot {
   public:
    std::vector<checkpoint::TensorView> views();
    std::int64_t bytes() const;

   private:
    friend class Learner;
    std::vector<checkpoint::TensorInfo> infos_;
    std::vector<std::vector<float>> values_;
  };
  Snapshot snapshot() const;
  // The loss scale is that of the start again.
  void restore(const Snapshot& snapshot, std::int64_t updates);
  // What a checkpoint holds beside tensors and updates(): the loss scale. One without leaves it as it is.
  void write(checkpoint::State& state) const;
  void read(const checkpoint::State& state);
  // Of the same tensors, of updates() and of the loss scale.
  StateHash state_hash() const;

  std::int64_t parameter_count() const;
  device::DType precision() const { return model_->parameters().compute_type(); }
  // What bitwise equality depends on, in one line.
  std::string environment() const;

 private:
  struct Named {
    std::string name;
    device::Tensor tensor;
  };
  device::Tensor input_of(const Sent& sent) const;  // the model's
  std::vector<Named> state_tensors() const;

  Trace* trace_ = nullptr;
  std::uint64_t seed_;
  std::vector<std::int64_t> sample_shape_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::WeightAverage> average_;
  Objective objective_;
  optim::LossScale initial_loss_scale_;
  std::optional<optim::LossScale> loss_scale_;  // fp16
  std::int64_t updates_ = 0;
};

}  // namespace lockstep::train
