#include "nn/tape.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace lockstep::nn {

Tape::Tape(ParameterSet& parameters, const ForwardContext& context)
    : parameters_(parameters),
      context_(context),
      uses_left_(parameters.size(), 0),
      written_(parameters.size(), 0),
      final_(parameters.size(), 0),
      recorded_(parameters.buffers().size(), 0) {
  if (context.training && parameters.buffer_values()) {
    statistics_ = device().zeros(parameters.buffer_values().shape());
  }
}

Variable Tape::input(device::Tensor value, bool needs_gradient) {
  if (!needs_gradient) return {std::move(value), Variable::no_gradient};
  gradients_.emplace_back();
  return {std::move(value), gradients_.size() - 1};
}

Variable Tape::record(device::Tensor value, bool inputs_need_gradient,
                      std::initializer_list<std::size_t> used_parameters, Backward backward) {
  const bool needs_gradient = inputs_need_gradient || used_parameters.size() > 0;
  if (!training() || !needs_gradient) return {std::move(value), Variable::no_gradient};
  for (const std::size_t parameter : used_parameters) ++uses_left_[parameter];
  Variable result = input(std::move(value), true);
  nodes_.push_back({result.slot, std::move(backward)});
  return result;
}

void Tape::add_gradient(const Variable& variable, device::Tensor gradient) {
  if (!variable.needs_gradient()) return;
  device::Tensor& sum = gradients_[variable.slot];
  if (sum) {
    device().axpy(1.f, gradient, sum);
  } else {
    sum = std::move(gradient);
  }
}

device::Tensor Tape::record_statistic(std::size_t buffer) {
  const Buffer& known = parameters_.buffers()[buffer];
  if (!statistics_ || std::exchange(recorded_[buffer], 1)) {
    throw Error(ExitCode::internal, fmt::format("a pass has more than one statistic for {}", known.name));
  }
  return known.slice_of(statistics_);
}

void Tape::finish_use(std::size_t parameter) {
  written_[parameter] = 1;
  if (--uses_left_[parameter] == 0) announce(parameter);
}

void Tape::announce(std::size_t parameter) {
  final_[parameter] = 1;
  if (options_.on_gradient_final) options_.on_gradient_final(parameter);
}

void Tape::backward(const BackwardOptions& options) {
  if (!training() || replayed_) {
    throw Error(ExitCode::internal, training() ? "a tape was replayed twice" : "an evaluation was replayed");
  }
  replayed_ = true;
  options_ = options;
  for (; !nodes_.empty(); nodes_.pop_back()) {
    const Node& node = nodes_.back();
    const device::Tensor gradient = std::exchange(gradients_[node.slot], {});
    // Nothing arrives at a value that the loss does not depend on.
    if (gradient) node.backward(*this, gradient);
  }
  for (std::size_t parameter = 0; parameter < final_.size(); ++parameter) {
    if (final_[parameter]) continue;
    if (!accumulates(parameter)) device().fill(0.f, parameters_[parameter].gradient);
    announce(parameter);
  }
}

}  // namespace lockstep::nn
