// Max-pooling on every device and in every type: values, winners, gradients.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::Activation;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::PoolWindow;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

std::vector<std::uint8_t> bytes_of(Device& device, const Tensor& tensor) {
  std::vector<std::uint8_t> host(static_cast<std::size_t>(tensor.count()));
  device.download(tensor, host);
  return host;
}

struct Pooled {
  std::vector<float> y;
  std::vector<std::uint8_t> index;
};

Shape pooled_shape(const Shape& x, const PoolWindow& window) {
  return {x[0], window_output(x[1], window), window_output(x[2], window), x[3]};
}

Pooled pool(Device& device, const Tensor& x, const PoolWindow& window, Activation activation) {
  const Shape out = pooled_shape(x.shape(), window);
  const Tensor y = unwritten(device, out, x.dtype());
  const Tensor index = device.empty(out, DType::u8);
  device.upload(std::vector<std::uint8_t>(static_cast<std::size_t>(out.count()), 77), index);
  device.max_pool_forward(x, window, activation, y, index);
  return {from_device(device, y), bytes_of(device, index)};
}

Values magnitudes_of(Values values) {
  for (float& value : values.host) value = std::abs(value);
  return values;
}

}  // namespace

TEST_CASE("max-pooling finds the same winners everywhere, and its gradient goes to them", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("max_pool")));
  // Windows side by side, that overlap, with padding on all sides, with gaps between them.
  const PoolWindow window = GENERATE(PoolWindow{2, 2, 0}, PoolWindow{3, 2, 1}, PoolWindow{3, 1, 1},
                                     PoolWindow{2, 3, 1}, PoolWindow{15, 4, 7});
  const std::int64_t channels = GENERATE(1, 8, 19);
  const auto activation = GENERATE(Activation::none, Activation::relu);
  INFO(trial << ", window " << window.size << " " << window.stride << " " << window.padding << ", "
             << channels << " channels");
  Device& device = *trial.device;
  CpuDevice reference;
  Values x = random_values({2, 9, 10, channels}, trial.dtype, 1);
  x.host[5] = std::numeric_limits<float>::quiet_NaN();
  x.host[40] = -std::numeric_limits<float>::infinity();

  Pooled got;
  repeated(trial, [&] {
    got = pool(device, on_device(device, x), window, activation);
    return got.y;
  });
  const Pooled wanted = pool(reference, in_f32(reference, x), window, activation);
  check_near(got.y, wanted.y, {trial.dtype, 0});
  CHECK(got.index == wanted.index);

  const Shape out = pooled_shape(x.shape, window);
  const Values dy = random_values(out, trial.dtype, 2);
  const auto backward = [&](Device& on, const Tensor& gradient) {
    const Tensor index = on.empty(out, DType::u8);
    on.upload(wanted.index, index);
    const Tensor dx = unwritten(on, x.shape, gradient.dtype());
    on.max_pool_backward(gradient, index, window, dx);
    return from_device(on, dx);
  };
  check_near(repeated(trial, [&] { return backward(device, on_device(device, dy)); }),
             backward(reference, in_f32(reference, dy)),
             {trial.dtype, 9, backward(reference, in_f32(reference, magnitudes_of(dy)))});
}

TEST_CASE("max-pooling takes tensors that begin at an odd element", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("max_pool")));
  INFO(trial);
  Device& device = *trial.device;
  const Shape shape{1, 5, 5, 16};
  const Values x = random_values(shape, trial.dtype, 3);
  const Tensor whole = device.empty({shape.count() + 1}, trial.dtype);
  device.copy(on_device(device, x).reshaped({shape.count()}), whole.slice(1, {shape.count()}));
  const Pooled got = pool(device, whole.slice(1, shape), {3, 2, 1}, Activation::none);
  const Pooled wanted = pool(device, on_device(device, x), {3, 2, 1}, Activation::none);
  CHECK(got.y == wanted.y);
  CHECK(got.index == wanted.index);

  const Shape out{1, 3, 3, 16};
  const Tensor dy = on_device(device, random_values(out, trial.dtype, 4));
  const Tensor index = device.empty(out, DType::u8);
  device.upload(wanted.index, index);
  const Tensor dx = unwritten(device, shape, trial.dtype);
  device.max_pool_backward(dy, index, {3, 2, 1}, dx);
  device.max_pool_backward(dy, index, {3, 2, 1}, whole.slice(1, shape));
  CHECK(from_device(device, whole.slice(1, shape)) == from_device(device, dx));
}

TEST_CASE("max-pooling refuses shapes and windows that do not fit", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("max_pool")));
  INFO(trial);
  Device& device = *trial.device;
  const Tensor x = device.zeros({1, 4, 4, 1}), y = device.zeros({1, 2, 2, 1});
  const Tensor index = device.empty({1, 2, 2, 1}, DType::u8);
  const auto forward = [&](const Tensor& out, const Tensor& winners, const PoolWindow& window) {
    device.max_pool_forward(x, window, Activation::none, out, winners);
  };
  CHECK_NOTHROW(forward(y, index, {2, 2, 0}));
  CHECK_THROWS_AS(forward(y, index, {3, 3, 0}), Error);
  CHECK_THROWS_AS(forward(y, index, {0, 2, 0}), Error);
  CHECK_THROWS_AS(forward(y, index, {16, 2, 8}), Error);
  CHECK_THROWS_AS(forward(y, y, {2, 2, 0}), Error);
  CHECK_THROWS_AS(device.max_pool_backward(y, index, {3, 3, 0}, x), Error);
}
