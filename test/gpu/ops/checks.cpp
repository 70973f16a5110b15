#include "checks.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <random>

namespace lockstep::gpu_ops {

namespace {

// Digits of the significand, exponent of the smallest normal number, largest number.
struct Format {
  int digits;
  int least_exponent;
  double largest;
};

Format format_of(DType dtype) {
  if (dtype == DType::bf16) return {8, -126, 0x1.FEp127};
  if (dtype == DType::f16) return {11, -14, 65504.};
  return {24, -126, static_cast<double>(std::numeric_limits<float>::max())};
}

double unit_at(double value, DType dtype) {
  const Format format = format_of(dtype);
  const int exponent =
      value == 0. ? format.least_exponent : std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1., exponent - format.digits + 1);
}

}  // namespace

void Checks::run(const std::string& name, const std::function<void()>& body) {
  fault_.clear();
  try {
    body();
    device_.synchronise();
  } catch (const std::exception& error) {
    wrong(error.what());
  }
  ++(fault_.empty() ? passed_ : failed_);
  std::printf("%s %s%s%s\n", fault_.empty() ? "ok    " : "not ok", name.c_str(), fault_.empty() ? "" : ": ",
              fault_.c_str());
  std::fflush(stdout);
}

void Checks::wrong(const std::string& text) {
  if (fault_.empty()) fault_ = text;
}

void Checks::tell(const std::string& text) {
  std::printf("note   %s\n", text.c_str());
}

void Checks::near(std::string_view what, const Tensor& got, const Values& wanted, double tolerance) {
  const Values here = download(device_, got);
  if (here.size() != wanted.size()) return wrong(std::string(what) + ": another number of elements");
  for (std::size_t i = 0; i < here.size(); ++i) {
    const double held = got.dtype() == DType::f64 ? wanted[i] : rounded(wanted[i], got.dtype());
    if (here[i] == held || (std::isnan(here[i]) && std::isnan(held))) continue;
    const double slack =
        tolerance * std::max(std::abs(wanted[i]), 1.) + 0.5 * unit_at(wanted[i], got.dtype());
    if (tolerance > 0. && std::abs(here[i] - wanted[i]) <= slack) continue;
    return wrong(std::string(what) + ": element " + std::to_string(i) + " of " + std::to_string(here.size()) +
                 " is " + std::to_string(here[i]) + ", wanted " + std::to_string(held));
  }
}

void Checks::same(std::string_view what, const Tensor& got, const std::vector<std::uint8_t>& wanted) {
  std::vector<std::uint8_t> here(static_cast<std::size_t>(got.count()));
  device_.download(got, here);
  if (here != wanted) wrong(std::string(what) + ": other bytes");
}

void Checks::repeats(std::string_view what, const std::function<Tensor()>& make) {
  const Values first = download(device_, make());
  for (int turn = 0; turn < 3; ++turn) {
    const Values again = download(device_, make());
    if (std::memcmp(again.data(), first.data(), first.size() * sizeof first[0]) != 0)
      return wrong(std::string(what) + ": other bits when repeated");
  }
}

double rounded(double value, DType dtype) {
  if (!std::isfinite(value) || dtype == DType::f64) return value;
  const double unit = unit_at(value, dtype);
  const double nearest = std::nearbyint(value / unit) * unit;
  if (std::abs(nearest) <= format_of(dtype).largest) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

double gelu(double x) {
  return 0.5 * x * (1. + std::tanh(std::sqrt(2. / M_PI) * (x + 0.044715 * x * x * x)));
}

Values simple_values(std::int64_t count, unsigned seed) {
  std::minstd_rand random(seed * 2 + 1);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = static_cast<double>(static_cast<int>(random() % 33) - 16) / 8.;
  return values;
}

Values full_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) {
    value = static_cast<double>(static_cast<float>(random()) / 0x1p31f - 1.f);
  }
  return values;
}

Tensor upload(Device& device, const Shape& shape, const Values& values, DType dtype) {
  const Tensor wide = device.empty(shape);
  device.upload(std::vector<float>(values.begin(), values.end()), wide);
  if (dtype == DType::f32) return wide;
  const Tensor narrow = device.empty(shape, dtype);
  device.cast(wide, narrow);
  return narrow;
}

Values download(Device& device, const Tensor& tensor) {
  Values values(static_cast<std::size_t>(tensor.count()));
  if (tensor.dtype() == DType::f64) {
    device.download(tensor, std::span<double>(values));
    return values;
  }
  std::vector<float> host(values.size());
  if (tensor.dtype() == DType::f32) {
    device.download(tensor, host);
  } else {
    const Tensor wide = device.empty(tensor.shape());
    device.cast(tensor, wide);
    device.download(wide, host);
  }
  return {host.begin(), host.end()};
}

std::string type_of(DType dtype) {
  return std::string(device::name_of(dtype));
}

}  // namespace lockstep::gpu_ops
