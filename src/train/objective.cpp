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

device::Tensor Objective::send_targets(device::Device& device, const data::Batch& batch) const {
  if (kind_ == Kind::mse) {
    if (batch.targets.empty()) return {};
    const auto width = static_cast<std::int64_t>(batch.targets.size()) / batch.size;
    return device.send(std::span<const float>(batch.targets), {batch.size, width});
  }
  if (static_cast<std::int64_t>(batch.y.size()) != batch.size) {
    throw Error(
        ExitCode::bad_config,
        "train.loss = cross_entropy needs class labels, and the targets of these data are numbers: set "
        "train.loss = mse, or give data with whole numbers in y");
  }
  const std::vector<std::int64_t> labels(batch.y.begin(), batch.y.end());
  return device.send(std::span<const std::int64_t>(labels), {batch.size});
}

device::Tensor Objective::operator()(nn::Tape& tape, const nn::Variable& outputs,
                                     const device::Tensor& targets) const {
  if (kind_ == Kind::cross_entropy) {
    return nn::softmax_cross_entropy(tape, outputs, targets, tape.training() ? label_smoothing_ : 0.);
  }
  if (!targets || targets.count() != outputs.value.count()) {
    throw Error(ExitCode::bad_config,
                fmt::format("train.loss = mse needs {} numbers for each sample, and these data have {}: set "
                            "train.loss = cross_entropy for class labels, or give data with numbers in y",
                            outputs.value.shape()[1], targets ? "another count of them" : "class labels"));
  }
  return nn::mean_squared_error(tape, outputs, targets);
}

}  // namespace lockstep::train
