#include <span>

#include "gradient_check.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace lockstep::test {

std::vector<float> pattern(std::int64_t count, std::int64_t k, float scale) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = (i * i * 31 + i * 7919 + k * 104729 + 12345) % 1009;
    values[static_cast<std::size_t>(i)] = (static_cast<float>(step) / 1024.f - 0.4921875f) * scale;
  }
  return values;
}

device::Tensor pattern_tensor(device::Device& device, const device::Shape& shape, std::int64_t k,
                              float scale) {
  device::Tensor tensor = device.empty(shape);
  device.upload(pattern(shape.count(), k, scale), tensor);
  return tensor;
}

std::vector<float> to_host(device::Device& device, const device::Tensor& tensor) {
  std::vector<float> host(static_cast<std::size_t>(tensor.count()));
  device.download(tensor, host);
  return host;
}

double sum_of_squares(device::Device& device, const device::Tensor& tensor) {
  const device::Tensor sum = device.empty({1}, device::DType::f64);
  device.sum_of_squares(tensor, sum);
  double host = 0.;
  device.download(sum, std::span(&host, 1));
  return host;
}

namespace {

constexpr float step = 0x1p-8f;

struct Checker {
  nn::ParameterSet& parameters;
  const nn::ForwardContext& context;
  const device::Tensor& x;
  const std::function<nn::Variable(nn::Tape&, const nn::Variable&)>& forward;

  double value() const {
    nn::Tape tape(parameters, context);
    const std::vector<float> y = to_host(parameters.device(), forward(tape, tape.input(x)).value);
    const std::vector<float> weights = pattern(static_cast<std::int64_t>(y.size()), 300);
    double sum = 0.;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * weights[i];
    return sum;
  }

  void compare(const std::string& what, const device::Tensor& tensor, const device::Tensor& gradient) const {
    device::Device& device = parameters.device();
    std::vector<float> host = to_host(device, tensor);
    const std::vector<float> analytic = to_host(device, gradient);
    const double here = value();
    const std::size_t one_in = device.kind() == "cpu" ? 1 : 1 + host.size() / 24;
    std::size_t looked_at = 0, checked = 0;
    for (std::size_t i = 0; i < host.size(); ++i) {
      // Irregularly, so as not to keep pace with an extent of the tensor.
      if ((i * 2654435761u >> 16) % one_in != 0) continue;
      ++looked_at;
      const float original = host[i];
      host[i] = original + step;
      device.upload(host, tensor);
      const double above = (value() - here) / step;
      host[i] = original - step;
      device.upload(host, tensor);
      const double below = (here - value()) / step;
      host[i] = original;
      const double tolerance = 2e-3 + 1e-3 * std::abs(above);
      if (std::abs(above - below) > tolerance) continue;
      ++checked;
      INFO(what << ", element " << i << " of " << tensor.shape().text());
      CHECK(analytic[i] == Approx(0.5 * (above + below)).margin(tolerance).epsilon(0.));
    }
    device.upload(host, tensor);
    INFO(what << " " << tensor.shape().text());
    CHECK(3 * checked >= looked_at);
  }
};

}  // namespace

void check_gradients(nn::ParameterSet& parameters, const nn::ForwardContext& context, const device::Tensor& x,
                     const std::function<nn::Variable(nn::Tape&, const nn::Variable&)>& forward) {
  nn::Tape tape(parameters, context);
  const nn::Variable input = tape.input(x, true);
  const nn::Variable output = forward(tape, input);
  tape.add_gradient(output, pattern_tensor(parameters.device(), output.value.shape(), 300));
  tape.backward();
  const Checker checker{parameters, context, x, forward};
  checker.compare("input", x, tape.gradient(input));
  for (const nn::Parameter& parameter : parameters.all()) {
    checker.compare(parameter.name, parameter.value, parameter.gradient);
  }
}

}  // namespace lockstep::test
