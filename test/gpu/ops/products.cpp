// Linear layers: cuBLASLt.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks.h"

namespace lockstep::gpu_ops {

namespace {

struct Layer {
  std::int64_t n, in, out;
};

std::string text_of(const Layer& layer) {
  return "[" + std::to_string(layer.n) + ", " + std::to_string(layer.in) + "] to " +
         std::to_string(layer.out);
}

// c [m, n] = sum over k of a(m, k) b(k, n).
template <typename A, typename B>
Values product(std::int64_t m, std::int64_t n, std::int64_t k, A a, B b) {
  Values c(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0.;
      for (std::int64_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      c[static_cast<std::size_t>(i * n + j)] = sum;
    }
  }
  return c;
}

auto rows_of(const Values& values, std::int64_t width) {
  return [&values, width](std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * width + j)];
  };
}
auto columns_of(const Values& values, std::int64_t width) {
  return [&values, width](std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(j * width + i)];
  };
}

void check_layer(Checks& checks, const Layer& layer, DType dtype) {
  Device& device = checks.device();
  // Not by structured binding: Clang 14 lets no lambda use such.
  const std::int64_t n = layer.n, in = layer.in, out = layer.out;
  const Values x = simple_values(n * in, 1), weight = simple_values(out * in, 2),
               bias = simple_values(out, 3);
  const Values dy = simple_values(n * out, 4), before = simple_values(out * in, 5);
  const Tensor x_there = upload(device, {n, in}, x, dtype);
  const Tensor weight_there = upload(device, {out, in}, weight, dtype);
  const Tensor bias_there = upload(device, {out}, bias);
  const Tensor dy_there = upload(device, {n, out}, dy, dtype);
  const std::string text = text_of(layer) + ", " + type_of(dtype);

  Values y = product(n, out, in, rows_of(x, in), columns_of(weight, in));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % static_cast<std::size_t>(out)];
  checks.run("linear " + text, [&] {
    const auto forward = [&] {
      const Tensor result = device.empty({n, out}, dtype);
      device.linear_forward(x_there, weight_there, bias_there, device::Activation::none, {}, result);
      return result;
    };
    checks.equal("y", forward(), y);
    checks.repeats("y", forward);
  });
  checks.run("linear with ReLU " + text, [&] {
    Values wanted = y;
    for (double& value : wanted) value = std::max(value, 0.);
    const Tensor result = device.empty({n, out}, dtype);
    device.linear_forward(x_there, weight_there, bias_there, device::Activation::relu, {}, result);
    checks.equal("y", result, wanted);
  });
  checks.run("linear with GELU " + text, [&] {
    const Tensor pre = device.empty({n, out}, dtype);
    const auto forward = [&] {
      const Tensor result = device.empty({n, out}, dtype);
      device.linear_forward(x_there, weight_there, bias_there, device::Activation::gelu, pre, result);
      return result;
    };
    Values wanted = y;
    for (double& value : wanted) value = gelu(value);
    // In 16 bits of a rounded input or not, and by cuBLASLt's own tanh.
    const double unit = dtype == DType::f32 ? 1e-6 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
    double largest = 0.;
    for (const double value : y) largest = std::max(largest, std::abs(value));
    checks.near("y", forward(), wanted, unit * largest);
    checks.equal("GELU's input", pre, y);
    checks.repeats("y", forward);
    double furthest = 0.;
    const Values got = download(device, forward());
    for (std::size_t i = 0; i < got.size(); ++i) {
      furthest = std::max(furthest, std::abs(got[i] - wanted[i]) / std::max(std::abs(y[i]), 1.));
    }
    if (n == 64)
      Checks::tell("GELU of a linear layer, " + type_of(dtype) + ": off by up to " +
                   std::to_string(furthest) + " of its input");
  });
  checks.run("linear backward, data " + text, [&] {
    const Tensor dx = device.empty({n, in}, dtype);
    device.linear_backward_data(dy_there, weight_there, dx);
    checks.equal("dx", dx, product(n, in, out, rows_of(dy, out), rows_of(weight, in)));
  });
  checks.run("linear backward, weights " + text, [&] {
    Values wanted = product(out, in, n, columns_of(dy, out), rows_of(x, in));
    const Tensor dweight = upload(device, {out, in}, before), dbias = device.zeros({out});
    device.linear_backward_weights(x_there, dy_there, false, dweight, dbias);
    checks.equal("dweight", dweight, wanted);
    for (double& value : wanted) value *= 2.;
    device.linear_backward_weights(x_there, dy_there, true, dweight, dbias);
    checks.equal("dweight, added up", dweight, wanted);
    Values sums(static_cast<std::size_t>(out));
    for (std::size_t i = 0; i < dy.size(); ++i) sums[i % static_cast<std::size_t>(out)] += 2. * dy[i];
    checks.equal("dbias, added up", dbias, sums);
  });
}

// A layer must not hide a number that is none. Behind the ReLU of its epilogue cuBLASLt promises nothing.
void check_nan(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t n = 64, in = 64, out = 64;
  constexpr std::size_t row = 5;
  Values x = simple_values(n * in, 6);
  x[row * 64] = std::numeric_limits<double>::quiet_NaN();
  const auto value_behind = [&](device::Activation activation) {
    const Tensor y = device.empty({n, out}, dtype);
    const Tensor pre = device.empty({n, out}, dtype);
    device.linear_forward(upload(device, {n, in}, x, dtype),
                          upload(device, {out, in}, Values(64 * 64, 1.), dtype), device.zeros({out}),
                          activation, pre, y);
    return download(device, y)[row * 64];
  };
  checks.run("NaN passes a linear layer, " + type_of(dtype), [&] {
    const double value = value_behind(device::Activation::none);
    if (!std::isnan(value)) checks.wrong("it became " + std::to_string(value));
  });
  checks.run("NaN passes a linear layer with GELU, " + type_of(dtype), [&] {
    const double value = value_behind(device::Activation::gelu);
    if (!std::isnan(value)) checks.wrong("it became " + std::to_string(value));
  });
  checks.run("NaN and the ReLU of a linear layer, " + type_of(dtype), [&] {
    const double value = value_behind(device::Activation::relu);
    if (!std::isnan(value) && value != 0.) checks.wrong("it became " + std::to_string(value));
    Checks::tell("cuBLASLt's ReLU in an epilogue, " + type_of(dtype) +
                 (std::isnan(value) ? ": NaN stays NaN, as on the CPU" : ": NaN becomes 0"));
  });
}

// TF32 keeps 11 bits of a factor; f32 must keep 24.
void check_precision(Checks& checks) {
  Device& device = checks.device();
  const std::int64_t n = 128, in = 256, out = 128;
  const Values x = full_values(n * in, 7), weight = full_values(out * in, 8);
  checks.run("products of f32 keep all bits (no TF32)", [&] {
    const Tensor y = device.empty({n, out});
    device.linear_forward(upload(device, {n, in}, x), upload(device, {out, in}, weight), device.zeros({out}),
                          device::Activation::none, {}, y);
    checks.near("y", y, product(n, out, in, rows_of(x, in), columns_of(weight, in)), 2e-5);
  });
}

}  // namespace

void check_products(Checks& checks) {
  for (const DType dtype : types) {
    for (const Layer& layer : {Layer{64, 128, 96}, Layer{3, 5, 7}, Layer{33, 784, 10}, Layer{1, 1, 1}}) {
      check_layer(checks, layer, dtype);
    }
    check_nan(checks, dtype);
  }
  check_precision(checks);
}

}  // namespace lockstep::gpu_ops
