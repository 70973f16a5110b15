#include "nn/linear.h"

namespace lockstep::nn {

Linear::Linear(ParameterSet& parameters, const std::string& name, std::int64_t in, std::int64_t out)
    : out_(out),
      weight_(parameters.add(name + ".weight", {out, in}, Initializer::fan_in(in), true)),
      bias_(parameters.add(name + ".bias", {out}, Initializer::fan_in(in), false)) {}

Variable Linear::operator()(Tape& tape, const Variable& x, device::Activation activation) const {
  const Parameter& weight = tape.parameters()[weight_];
  const Parameter& bias = tape.parameters()[bias_];
  const bool gelu = activation == device::Activation::gelu;
  const device::Shape shape{x.value.shape()[0], out_};
  const device::Tensor y = tape.device().empty(shape, x.value.dtype());
  const device::Tensor pre = gelu ? tape.device().empty(shape, x.value.dtype()) : device::Tensor();
  tape.device().linear_forward(x.value, weight.compute, bias.value, activation, pre, y);
  // What the activation's gradient is made of: GELU's input, ReLU's output.
  const auto backward = [x, kept = gelu ? pre : y, activation, &weight, &bias](Tape& t,
                                                                               const device::Tensor& dy) {
    if (activation == device::Activation::relu) t.device().relu_backward(dy, kept, dy);
    if (activation == device::Activation::gelu) t.device().gelu_backward(dy, kept, dy);
    t.device().linear_backward_weights(x.value, dy, t.accumulates(weight.index), weight.gradient,
                                       bias.gradient);
    t.finish_use(bias.index);
    t.finish_use(weight.index);
    if (!x.needs_gradient()) return;
    const device::Tensor dx = t.device().empty(x.value.shape(), x.value.dtype());
    t.device().linear_backward_data(dy, weight.compute, dx);
    t.add_gradient(x, dx);
  };
  return tape.record(y, x.needs_gradient(), {weight.index, bias.index}, backward);
}

}  // namespace lockstep::nn
