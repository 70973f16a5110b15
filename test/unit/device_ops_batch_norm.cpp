// Batch normalisation on every device and in every type: moments, forward, backward.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::Activation;
using lockstep::device::ChannelMoments;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

using Floats = std::vector<float>;

// Pixels and channels: one of each; odd; packs; several groups of channels and chunks of pixels.
Shape some_shape() {
  return GENERATE(Shape{2, 1}, Shape{2, 5, 3, 19}, Shape{3, 3, 3, 8}, Shape{7, 11, 136});
}

struct Moments {
  Floats mean, variance;
};

Moments moments_of(Device& device, const Tensor& x) {
  const Shape channels{x.shape()[x.shape().rank() - 1]};
  const Tensor mean = unwritten(device, channels), variance = unwritten(device, channels);
  device.channel_moments(x, mean, variance);
  return {from_device(device, mean), from_device(device, variance)};
}

Floats joined(const Floats& a, const Floats& b, const Floats& c = {}) {
  Floats all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// A layer's values, the same on every device.
struct Layer {
  Moments moments;
  Values scale, shift;

  explicit Layer(const Values& x)
      : scale(random_values({x.shape[x.shape.rank() - 1]}, DType::f32, 11)),
        shift(random_values({x.shape[x.shape.rank() - 1]}, DType::f32, 12)) {
    CpuDevice reference;
    moments = moments_of(reference, in_f32(reference, x));
  }
  Tensor on(Device& device, const Floats& values) const {
    return in_f32(device, {scale.shape, DType::f32, values});
  }
  ChannelMoments moments_on(Device& device) const {
    return {on(device, moments.mean), on(device, moments.variance), 1e-5f};
  }
  double inverse(std::size_t channel) const {
    return 1. / std::sqrt(static_cast<double>(moments.variance[channel]) + 1e-5);
  }
};

}  // namespace

TEST_CASE("moments of channels are f64 sums", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("batch_norm")));
  const Shape shape = GENERATE(Shape{1, 1}, Shape{2, 5, 3, 19}, Shape{3, 3, 3, 8}, Shape{700, 136},
                               Shape{5000, 1}, Shape{17000, 8});
  INFO(trial << ", " << shape.text());
  Device& device = *trial.device;
  CpuDevice reference;
  // Far from 0, which f32 sums would not survive.
  Values x = random_values(shape, trial.dtype, 1);
  for (float& value : x.host) value = rounded(value + 30.f, trial.dtype);
  Moments got;
  repeated(trial, [&] {
    got = moments_of(device, on_device(device, x));
    return joined(got.mean, got.variance);
  });
  const Moments wanted = moments_of(reference, in_f32(reference, x));
  check_near(got.mean, wanted.mean, {DType::f32, 1});
  check_near(got.variance, wanted.variance, {DType::f32, 1});

  // The same bits wherever the tensor begins.
  const Tensor whole = device.empty({shape.count() + 1}, trial.dtype);
  device.copy(on_device(device, x).reshaped({shape.count()}), whole.slice(1, {shape.count()}));
  const Moments odd = moments_of(device, whole.slice(1, shape));
  CHECK(odd.mean == got.mean);
  CHECK(odd.variance == got.variance);
}

TEST_CASE("moments of NaN are NaN, those of equal values have no variance", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("batch_norm")));
  INFO(trial);
  Device& device = *trial.device;
  // Every channel constant, of many constants: the difference of some sums is rounded to less than 0.
  const std::int64_t channels = 65;
  const Values constants = random_values({channels}, trial.dtype, 8);
  Values x{{300, channels}, trial.dtype, {}};
  for (int pixel = 0; pixel < 300; ++pixel) x.host = joined(x.host, constants.host);
  x.host[x.host.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  const auto diverged = x.host.size() / 2 % static_cast<std::size_t>(channels);
  const Moments got = moments_of(device, on_device(device, x));
  for (std::size_t c = 0; c < constants.host.size(); ++c) {
    INFO("channel " << c);
    CHECK(std::isnan(got.mean[c]) == (c == diverged));
    CHECK(std::isnan(got.variance[c]) == (c == diverged));
    if (c == diverged) continue;
    CHECK(got.mean[c] == constants.host[c]);
    CHECK(got.variance[c] >= 0.f);
    CHECK(got.variance[c] < 1e-13f);
  }
}

TEST_CASE("batch normalisation, forward", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("batch_norm")));
  const Shape shape = some_shape();
  const bool with_residual = GENERATE(false, true);
  const auto activation = GENERATE(Activation::none, Activation::relu);
  INFO(trial << ", " << shape.text());
  Device& device = *trial.device;
  CpuDevice reference;
  Values x = random_values(shape, trial.dtype, 2, 3.f);
  const Values residual = random_values(shape, trial.dtype, 3);
  const Layer layer(x);
  const std::size_t channels = layer.scale.host.size();
  x.host[x.host.size() - 1] = std::numeric_limits<float>::quiet_NaN();
  const auto run = [&](Device& on, const Tensor& input, const Tensor& added) {
    const Tensor y = unwritten(on, shape, input.dtype());
    on.batch_norm_forward(input, layer.moments_on(on), in_f32(on, layer.scale), in_f32(on, layer.shift),
                          with_residual ? added : Tensor(), activation, y);
    return from_device(on, y);
  };
  Floats magnitudes(x.host.size());
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const std::size_t c = i % channels;
    magnitudes[i] = std::abs(x.host[i] - layer.moments.mean[c]) * std::abs(layer.scale.host[c]) *
                        static_cast<float>(layer.inverse(c)) +
                    std::abs(layer.shift.host[c]) + std::abs(residual.host[i]);
  }
  check_near(repeated(trial, [&] { return run(device, on_device(device, x), on_device(device, residual)); }),
             run(reference, in_f32(reference, x), in_f32(reference, residual)), {trial.dtype, 4, magnitudes});
}

TEST_CASE("batch normalisation, backward", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("batch_norm")));
  const Shape shape = some_shape();
  const auto activation = GENERATE(Activation::none, Activation::relu);
  const bool accumulate = GENERATE(false, true);
  const bool in_place = GENERATE(false, true);
  INFO(trial << ", " << shape.text());
  Device& device = *trial.device;
  CpuDevice reference;
  const bool relu = activation == Activation::relu;
  const Values x = random_values(shape, trial.dtype, 4, 3.f);
  const Values dy = random_values(shape, trial.dtype, 5);
  Values y = random_values(shape, trial.dtype, 6);
  for (std::size_t i = 0; i < y.host.size(); i += 3) y.host[i] = 0.f;
  const Layer layer(x);
  const Values before = random_values(layer.scale.shape, DType::f32, 7);

  struct Gradients {
    Floats dx, dy, dscale, dshift;
  };
  const auto run = [&](Device& on, const auto& put) {
    const Tensor gradient = put(on, dy);
    const Tensor dx = in_place ? gradient : unwritten(on, shape, gradient.dtype());
    const Tensor dscale = in_f32(on, before), dshift = in_f32(on, before);
    on.batch_norm_backward(put(on, x), layer.moments_on(on), in_f32(on, layer.scale), activation,
                           relu ? put(on, y) : Tensor(), gradient, accumulate, dx, dscale, dshift);
    return Gradients{from_device(on, dx), from_device(on, gradient), from_device(on, dscale),
                     from_device(on, dshift)};
  };
  Gradients got;
  repeated(trial, [&] {
    got = run(device, on_device);
    return joined(got.dx, got.dscale, got.dshift);
  });
  const Gradients wanted = run(reference, in_f32);

  // dy has become the gradient before ReLU.
  Floats cut = dy.host;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (relu && !(y.host[i] > 0.f)) cut[i] = 0.f;
  }
  if (!in_place) CHECK(got.dy == cut);

  const std::size_t channels = layer.scale.host.size();
  const auto n = static_cast<double>(cut.size() / channels);
  std::vector<double> sums(channels), products(channels);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const std::size_t c = i % channels;
    sums[c] += static_cast<double>(cut[i]);
    products[c] += static_cast<double>(cut[i]) * static_cast<double>(x.host[i] - layer.moments.mean[c]);
  }
  Floats of_dx(cut.size()), of_dscale(channels), of_dshift(channels);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const std::size_t c = i % channels;
    const double inverse = layer.inverse(c);
    const double slope = products[c] * inverse * inverse / n;
    of_dx[i] = static_cast<float>(std::abs(static_cast<double>(layer.scale.host[c])) * inverse *
                                  (std::abs(static_cast<double>(cut[i])) + std::abs(sums[c]) / n +
                                   std::abs(slope * static_cast<double>(x.host[i] - layer.moments.mean[c]))));
  }
  for (std::size_t c = 0; c < channels; ++c) {
    of_dscale[c] = static_cast<float>(std::abs(products[c]) * layer.inverse(c)) + std::abs(before.host[c]);
    of_dshift[c] = static_cast<float>(std::abs(sums[c])) + std::abs(before.host[c]);
  }
  check_near(got.dx, wanted.dx, {trial.dtype, 5, of_dx});
  check_near(got.dscale, wanted.dscale, {DType::f32, 2, of_dscale});
  check_near(got.dshift, wanted.dshift, {DType::f32, 2, of_dshift});
}

TEST_CASE("batch normalisation refuses shapes that do not fit", "[device][ops]") {
  for (const Trial& trial : f32_trials("batch_norm")) {
    INFO(trial);
    Device& device = *trial.device;
    const Tensor x = device.zeros({2, 3}), one = device.zeros({3}), other = device.zeros({4});
    const ChannelMoments moments{one, one, 1e-5f};
    CHECK_THROWS_AS(device.channel_moments(x, one, other), Error);
    const auto forward = [&](const Tensor& scale, const Tensor& residual, const Tensor& y) {
      device.batch_norm_forward(x, moments, scale, one, residual, Activation::none, y);
    };
    CHECK_NOTHROW(forward(one, {}, device.zeros({2, 3})));
    CHECK_THROWS_AS(forward(other, {}, device.zeros({2, 3})), Error);
    CHECK_THROWS_AS(forward(one, one, device.zeros({2, 3})), Error);
    CHECK_THROWS_AS(forward(one, {}, device.zeros({3, 2})), Error);
    CHECK_THROWS_AS(device.batch_norm_backward(x, moments, one, Activation::relu, one, device.zeros({2, 3}),
                                               false, device.zeros({2, 3}), one, one),
                    Error);
  }
}
