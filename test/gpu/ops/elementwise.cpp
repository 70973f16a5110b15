// Operations element by element, sums, dropout and the optimizers: kernels of our own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "checks.h"

namespace lockstep::gpu_ops {

namespace {

void check_casts(Checks& checks) {
  Device& device = checks.device();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    checks.run("cast from and to " + type_of(dtype), [&, dtype] {
      Values values = full_values(1000, 1);
      for (std::size_t i = 0; i < 100; ++i) values[i] = 1. + static_cast<double>(i) / 4096.;  // ties too
      values[100] = 1e6;
      values[101] = 1e-6;
      values[102] = std::numeric_limits<double>::infinity();
      values[103] = std::numeric_limits<double>::quiet_NaN();
      for (double& value : values) value = static_cast<double>(static_cast<float>(value));
      checks.equal("values", upload(device, {1000}, values, dtype), values);
    });
  }
}

void check_arithmetic(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t count = 5003;
  const Values x = simple_values(count, 2), y = simple_values(count, 3);
  const Tensor x_there = upload(device, {count}, x, dtype);
  checks.run("ReLU, " + type_of(dtype), [&] {
    Values with_nan = x;
    with_nan[9] = std::numeric_limits<double>::quiet_NaN();
    const Tensor there = upload(device, {count}, with_nan, dtype), result = device.empty({count}, dtype);
    device.relu_forward(there, result);
    for (double& value : with_nan) value = value < 0. ? 0. : value;
    checks.equal("y", result, with_nan);
  });
  checks.run("ReLU backward, " + type_of(dtype), [&] {
    const Tensor dx = device.empty({count}, dtype);
    device.relu_backward(upload(device, {count}, y, dtype), x_there, dx);
    Values wanted = y;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = x[i] > 0. ? y[i] : 0.;
    checks.equal("dx", dx, wanted);
  });
}

void check_gelu(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t count = 5003;
  Values x = full_values(count, 6);
  for (double& value : x) value = rounded(value * 8., dtype);
  x[9] = std::numeric_limits<double>::quiet_NaN();
  const Values dy = simple_values(count, 3);
  checks.run("GELU, " + type_of(dtype), [&] {
    const Tensor there = upload(device, {count}, x, dtype);
    const auto forward = [&] {
      Tensor y = device.empty({count}, dtype);
      device.gelu_forward(there, y);
      return y;
    };
    Values wanted = x;
    for (double& value : wanted) value = gelu(value);
    checks.near("y", forward(), wanted, 1e-6);
    checks.repeats("y", forward);
  });
  checks.run("GELU backward, " + type_of(dtype), [&] {
    const Tensor dx = device.empty({count}, dtype);
    device.gelu_backward(upload(device, {count}, dy, dtype), upload(device, {count}, x, dtype), dx);
    Values wanted = dy;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] *= (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5;
    }
    checks.near("dx", dx, wanted, 1e-5);
  });
}

void check_axpy(Checks& checks) {
  Device& device = checks.device();
  const std::int64_t count = 5003;
  const Values x = simple_values(count, 2), y = simple_values(count, 3);
  checks.run("axpy", [&] {
    const Tensor sum = upload(device, {count}, y);
    device.axpy(0.5f, upload(device, {count}, x), sum);
    Values wanted = y;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += 0.5 * x[i];
    checks.equal("y", sum, wanted);
  });
}

void check_sums(Checks& checks) {
  Device& device = checks.device();
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{3000001}}) {
    checks.run("sum of squares of " + std::to_string(count), [&, count] {
      const Values x = simple_values(count, 4);
      const Tensor there = upload(device, {count}, x);
      const auto make = [&] {
        const Tensor sum = device.empty({1}, DType::f64);
        device.sum_of_squares(there, sum);
        return sum;
      };
      checks.equal("sum", make(), {std::inner_product(x.begin(), x.end(), x.begin(), 0.)});
      checks.repeats("sum", make);
    });
  }
}

void check_dropout(Checks& checks) {
  Device& device = checks.device();
  const std::int64_t n = 64, width = 1023;
  const Values x(static_cast<std::size_t>(n * width), 1.);
  const device::DropoutKey key{7, 3, 1, 0.25};
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 1000);
  checks.run("dropout", [&] {
    const Tensor there = upload(device, {n, width}, x), y = device.empty({n, width}),
                 mask = device.empty({n, width}, DType::u8);
    device.dropout_forward(there, key, ids, y, mask);
    const Values got = download(device, y);
    std::vector<std::uint8_t> kept(got.size());
    device.download(mask, kept);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double wanted = kept[i] != 0 ? static_cast<double>(static_cast<float>(1. / 0.75)) : 0.;
      if (std::abs(got[i] - wanted) > 1e-6) return checks.wrong("y is not the mask's");
    }
    const double share = std::accumulate(kept.begin(), kept.end(), 0.) / static_cast<double>(kept.size());
    if (std::abs(share - 0.75) > 0.01) checks.wrong("it keeps " + std::to_string(share) + ", not 0.75");
    // The same samples in another order.
    std::reverse(ids.begin(), ids.end());
    device.dropout_forward(there, key, ids, y, mask);
    const Values turned = download(device, y);
    for (std::size_t row = 0; row < static_cast<std::size_t>(n); ++row) {
      const auto first = got.begin() + static_cast<std::ptrdiff_t>(row) * width;
      const auto other =
          turned.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(n) - 1 - row) * width;
      if (!std::equal(first, first + width, other))
        return checks.wrong("it depends on the place in the batch");
    }
  });
}

void check_optimizers(Checks& checks) {
  Device& device = checks.device();
  const std::int64_t count = 10007;
  const Values gradient = full_values(count, 5), value = full_values(count, 6), first = full_values(count, 7);
  checks.run("SGD", [&] {
    const device::SgdArguments a{0.1f, 0.5f, 0.9f, 0.01f};
    const Tensor there = upload(device, {count}, value), velocity = upload(device, {count}, first);
    device.sgd_step(a, upload(device, {count}, gradient), there, velocity);
    Values v = first, w = value;
    for (std::size_t i = 0; i < w.size(); ++i) {
      v[i] = 0.9 * v[i] + 0.5 * gradient[i] + 0.01 * w[i];
      w[i] -= 0.1 * v[i];
    }
    checks.near("velocity", velocity, v, 1e-6);
    checks.near("value", there, w, 1e-6);
  });
  checks.run("AdamW", [&] {
    const device::AdamwArguments a{0.5f, 0.999f, 0.1f, 0.99f, 0.01f, 0.01f, 0.3f, 1e-8f};
    const Tensor there = upload(device, {count}, value), mean = upload(device, {count}, first),
                 square = device.zeros({count});
    device.adamw_step(a, upload(device, {count}, gradient), there, mean, square);
    Values m = first, s(m.size()), w = value;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double g = 0.5 * gradient[i];
      m[i] += 0.1 * (g - m[i]);
      s[i] = 0.01 * g * g;
      w[i] = 0.999 * w[i] - 0.01 * m[i] / (std::sqrt(s[i]) / 0.3 + 1e-8);
    }
    checks.near("exp_avg", mean, m, 1e-6);
    checks.near("exp_avg_sq", square, s, 1e-6);
    checks.near("value", there, w, 2e-3);  // the root of a square near zero divides
  });
}

}  // namespace

void check_elementwise(Checks& checks) {
  check_casts(checks);
  for (const DType dtype : types) {
    check_arithmetic(checks, dtype);
    check_gelu(checks, dtype);
  }
  check_axpy(checks);
  check_sums(checks);
  check_dropout(checks);
  check_optimizers(checks);
}

}  // namespace lockstep::gpu_ops
