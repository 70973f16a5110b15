// The model, its optimizer and the device that they live on: what one rank computes by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "core/trace.h"
#include "data/batch.h"
#include "device/device.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "train/config.h"

namespace lockstep::train {

// Sums over the samples of one micro-batch.
struct BatchResult {
  double loss = 0;
  std::int64_t correct = 0;
};

class Learner {
 public:
  // `sample_shape` as the shards have it: [features], [height, width] or [channels, height, width]. Throws
  // Error(bad_config) where the model does not fit the data.
  Learner(const Config& config, int threads, const std::vector<std::int64_t>& sample_shape,
          std::int64_t classes);

  // From here on forward and backward passes are in the trace; null: not.
  void set_trace(Trace* trace) { trace_ = trace; }

  // Forward and backward of one micro-batch at `step` (steps done before it). The gradient of the SUM of the
  // losses replaces the gradients or, with `accumulate`, is added to them.
  BatchResult train(const data::Batch& batch, std::int64_t step, bool accumulate);

  BatchResult evaluate(const data::Batch& batch);

  // The gradient buffers, one per parameter group, in the memory of the device.
  std::vector<std::span<float>> gradients();
  void zero_gradients();

  // L2 norm over all gradients times `gradient_scale`.
  double gradient_norm(double gradient_scale) const;

  // One optimizer step with gradients times `gradient_scale`.
  void update(double learning_rate, double gradient_scale);

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
  void restore(const Snapshot& snapshot);

  std::int64_t parameter_count() const;
  // What bitwise equality depends on, in one line.
  std::string environment() const;

 private:
  struct Named {
    std::string name;
    device::Tensor tensor;
  };
  struct Inputs {
    device::Tensor x;
    device::Tensor labels;
  };
  Inputs upload(const data::Batch& batch) const;
  std::vector<Named> state_tensors() const;

  Trace* trace_ = nullptr;
  std::uint64_t seed_;
  std::vector<std::int64_t> sample_shape_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

}  // namespace lockstep::train
