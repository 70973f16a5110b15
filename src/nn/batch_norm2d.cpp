#include "nn/batch_norm2d.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::nn {

namespace {

constexpr float momentum = 0.1f;

}  // namespace

BatchNorm2d::BatchNorm2d(ParameterSet& parameters, const std::string& name, std::int64_t channels)
    : name_(name),
      scale_(parameters.add(name + ".weight", {channels}, Initializer::constant(1.f), false)),
      shift_(parameters.add(name + ".bias", {channels}, Initializer::constant(0.f), false)),
      running_mean_(parameters.add_buffer(name + ".running_mean", {channels}, 0.f)),
      running_variance_(parameters.add_buffer(name + ".running_var", {channels}, 1.f)) {}

device::ChannelMoments BatchNorm2d::moments(Tape& tape, const device::Tensor& x) const {
  const auto buffers = tape.parameters().buffers();
  if (!tape.training()) {
    return {buffers[running_mean_].value, buffers[running_variance_].value, epsilon};
  }
  const device::Shape& shape = x.shape();
  const std::int64_t values = shape[0] * shape[1] * shape[2];
  if (values < 2) {
    throw Error(ExitCode::bad_config,
                fmt::format("layer {}: a micro-batch {} has one value per channel, and batch normalisation "
                            "needs at least 2: use a larger train.micro_batch or larger images",
                            name_, shape.text()));
  }
  device::Device& device = tape.device();
  device::ChannelMoments moments{device.empty({shape[3]}), device.empty({shape[3]}), epsilon};
  device.channel_moments(x, moments.mean, moments.variance);
  device.copy(moments.mean, tape.record_statistic(running_mean_));
  const device::Tensor unbiased = tape.record_statistic(running_variance_);
  device.copy(moments.variance, unbiased);
  device.scale(static_cast<float>(values) / static_cast<float>(values - 1), unbiased);
  return moments;
}

Variable BatchNorm2d::operator()(Tape& tape, const Variable& x, device::Activation activation) const {
  return (*this)(tape, x, Variable{}, activation);
}

Variable BatchNorm2d::operator()(Tape& tape, const Variable& x, const Variable& residual,
                                 device::Activation activation) const {
  const Parameter& scale = tape.parameters()[scale_];
  const Parameter& shift = tape.parameters()[shift_];
  const device::ChannelMoments moments = this->moments(tape, x.value);
  const device::Tensor y = tape.device().empty(x.value.shape(), x.value.dtype());
  tape.device().batch_norm_forward(x.value, moments, scale.value, shift.value, residual.value, activation, y);
  const auto backward = [x, residual, moments, y, activation, &scale, &shift](Tape& t,
                                                                              const device::Tensor& dy) {
    // The residual's gradient is what becomes of dy.
    const device::Tensor dx = residual.needs_gradient() ? t.device().empty(dy.shape(), dy.dtype()) : dy;
    t.device().batch_norm_backward(x.value, moments, scale.value, activation, y, dy,
                                   t.accumulates(scale.index), dx, scale.gradient, shift.gradient);
    t.finish_use(shift.index);
    t.finish_use(scale.index);
    t.add_gradient(x, dx);
    t.add_gradient(residual, dy);
  };
  return tape.record(y, x.needs_gradient() || residual.needs_gradient(), {scale.index, shift.index},
                     backward);
}

void update_running_statistics(ParameterSet& parameters, const device::Tensor& statistics) {
  parameters.device().scale(1.f - momentum, parameters.buffer_values());
  parameters.device().axpy(momentum, statistics, parameters.buffer_values());
}

}  // namespace lockstep::nn
