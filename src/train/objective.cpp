#include "train/objective.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "core/error.h"
#include "nn/mean_squared_error.h"
#include "nn/softmax_cross_entropy.h"

namespace lockstep::train {

Objective::Objective(const Config::Train& config)
    : kind_(config.loss == "mse" ? Kind::mse : Kind::cross_entropy),
      label_smoothing_(config.label_smoothing) {}

device::Tensor Objective::operator()(nn::Tape& tape, const nn::Variable& outputs,
                                     const data::Batch& batch) const {
  return kind_ == Kind::mse ? mse(tape, outputs, batch) : cross_entropy(tape, outputs, batch);
}

device::Tensor Objective::cross_entropy(nn::Tape& tape, const nn::Variable& outputs,
                                     const data::Batch& batch) const {
  if (static_cast<std::int64_t>(batch.y.size()) != batch.size) {
    throw Error(
        ExitCode::bad_config,
        "train.loss = cross_entropy needs class labels, and the targets of these data are numbers: set "
        "train.loss = mse, or give data with whole numbers in y");
  }
  const std::vector<std::int64_t> host(batch.y.begin(), batch.y.end());
  const device::Tensor labels = tape.device().empty({batch.size}, device::DType::i64);
  tape.device().upload(std::span<const std::int64_t>(host), labels);
  const double smoothing = tape.training() ? label_smoothing_ : 0.;
  return nn::softmax_cross_entropy(tape, outputs, labels, smoothing);
}

device::Tensor Objective::mse(nn::Tape& tape, const nn::Variable& outputs, const data::Batch& batch) const {
  if (static_cast<std::int64_t>(batch.targets.size()) != outputs.value.count()) {
    throw Error(ExitCode::bad_config,
                fmt::format("train.loss = mse needs {} numbers for each sample, and these data have {}: set "
                            "train.loss = cross_entropy for class labels, or give data with numbers in y",
                            outputs.value.shape()[1],
                            batch.targets.empty() ? "class labels" : "another count of them"));
  }
  const device::Tensor targets = tape.device().empty(outputs.value.shape());
  tape.device().upload(std::span<const float>(batch.targets), targets);
  return nn::mean_squared_error(tape, outputs, targets);
}

}  // namespace lockstep::train
