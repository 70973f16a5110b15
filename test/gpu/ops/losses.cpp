// The losses: kernels of our own.
#include <algorithm>
#include <cmath>

#include "checks.h"

namespace lockstep::gpu_ops {

namespace {

void check_cross_entropy(Checks& checks, std::int64_t classes, double smoothing, DType dtype) {
  Device& device = checks.device();
  const std::int64_t n = 37;
  const auto width = static_cast<std::size_t>(classes);
  const Values logits = simple_values(n * classes, 1);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * 7 % width);
  double loss = 0., correct = 0.;
  Values gradient(logits.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const double* z = &logits[row * width];
    const auto label = static_cast<std::size_t>(labels[row]);
    const double largest = *std::max_element(z, z + width);
    double sum = 0.;
    for (std::size_t c = 0; c < width; ++c) sum += std::exp(z[c] - largest);
    for (std::size_t c = 0; c < width; ++c) {
      const double target = smoothing / static_cast<double>(classes) + (c == label ? 1. - smoothing : 0.);
      loss -= target * (z[c] - largest - std::log(sum));
      gradient[row * width + c] = 2. * (std::exp(z[c] - largest) / sum - target);
    }
    correct += static_cast<std::size_t>(std::max_element(z, z + width) - z) == label ? 1. : 0.;
  }
  checks.run("cross-entropy, " + std::to_string(classes) + " classes, " + type_of(dtype), [&] {
    const Tensor labels_there = device.empty({n}, DType::i64), sums = device.empty({3}, DType::f64);
    device.upload(labels, labels_there);
    const Tensor dlogits = device.empty({n, classes}, dtype);
    device.softmax_cross_entropy(upload(device, {n, classes}, logits, dtype), labels_there, smoothing, 2.f,
                                 dlogits, sums);
    checks.near("loss, right ones, wrong labels", sums, {loss, correct, 0.}, 2e-6);
    // Two roundings to the type may fall on neighbours.
    checks.near("dlogits", dlogits, gradient, dtype == DType::f32 ? 2e-6 : dtype == DType::f16 ? 1e-3 : 8e-3);
  });
}

void check_squared_error(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t n = 19, width = 8;
  const Values there = simple_values(n * width, 2), wanted = simple_values(n * width, 3);
  checks.run("squared error, " + type_of(dtype), [&] {
    double loss = 0.;
    Values gradient(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) {
      loss += std::pow(there[i] - wanted[i], 2) / 8.;
      gradient[i] = 0.5 * 2. * (there[i] - wanted[i]) / 8.;
    }
    const Tensor sums = device.empty({3}, DType::f64), back = device.empty({n, width}, dtype);
    device.mean_squared_error(upload(device, {n, width}, there, dtype), upload(device, {n, width}, wanted),
                              0.5f, back, sums);
    checks.equal("loss", sums, {loss, 0., 0.});
    checks.equal("gradient", back, gradient);
  });
}

}  // namespace

void check_losses(Checks& checks) {
  for (const DType dtype : types) {
    check_cross_entropy(checks, 10, 0., dtype);
    check_cross_entropy(checks, 1000, 0.1, dtype);
    check_squared_error(checks, dtype);
  }
}

}  // namespace lockstep::gpu_ops
