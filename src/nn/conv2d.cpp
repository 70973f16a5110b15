#include "nn/conv2d.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::nn {

Conv2d::Conv2d(ParameterSet& parameters, const std::string& name, std::int64_t in, std::int64_t out,
               std::int64_t kernel, const device::Conv2dOptions& options)
    : name_(name),
      out_(out),
      kernel_(kernel),
      options_(options),
      weight_(parameters.add(name + ".weight", {out, in, kernel, kernel},
                             Initializer::fan_in(in * kernel * kernel), true)),
      bias_(parameters.add(name + ".bias", {out}, Initializer::fan_in(in * kernel * kernel), false)) {}

Conv2d Conv2d::without_bias(ParameterSet& parameters, const std::string& name, std::int64_t in,
                            std::int64_t out, std::int64_t kernel, const device::Conv2dOptions& options) {
  const std::size_t weight = parameters.add(name + ".weight", {out, in, kernel, kernel},
                                            Initializer::normal_fan_out(out * kernel * kernel), true);
  return {name, out, kernel, options, weight};
}

Variable Conv2d::operator()(Tape& tape, const Variable& x, device::Activation activation) const {
  const Parameter& weight = tape.parameters()[weight_];
  const device::Shape& in = x.value.shape();
  if (in.rank() != 4 || device::window_output(in[1], kernel_, options_) < 1 ||
      device::window_output(in[2], kernel_, options_) < 1) {
    throw Error(ExitCode::bad_config,
                fmt::format("layer {}: a {} x {} convolution cannot run on {}, wanted images "
                            "[n, h, w, channels] of at least its size",
                            name_, kernel_, kernel_, in.text()));
  }
  const device::Tensor y = tape.device().empty({in[0], device::window_output(in[1], kernel_, options_),
                                                device::window_output(in[2], kernel_, options_), out_},
                                               x.value.dtype());
  const Parameter* bias = bias_ ? &tape.parameters()[*bias_] : nullptr;
  tape.device().conv2d_forward(x.value, weight.compute, bias != nullptr ? bias->value : device::Tensor(),
                               options_, activation, y);
  const auto backward = [x, y, activation, options = options_, &weight, bias](Tape& t,
                                                                              const device::Tensor& dy) {
    if (activation == device::Activation::relu) t.device().relu_backward(dy, y, dy);
    t.device().conv2d_backward_weights(x.value, dy, options, t.accumulates(weight.index), weight.gradient,
                                       bias != nullptr ? bias->gradient : device::Tensor());
    if (bias != nullptr) t.finish_use(bias->index);
    t.finish_use(weight.index);
    if (!x.needs_gradient()) return;
    const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
    t.device().conv2d_backward_data(dy, weight.compute, options, dx);
    t.add_gradient(x, dx);
  };
  if (bias == nullptr) return tape.record(y, x.needs_gradient(), {weight.index}, backward);
  return tape.record(y, x.needs_gradient(), {weight.index, bias->index}, backward);
}

}  // namespace lockstep::nn
