// The mean over an image, every stride-th pixel, and the order of images, on every device and in every type.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using namespace lockstep::test;

TEST_CASE("average pooling", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("average_pool")));
  const Shape image = GENERATE(Shape{1, 1, 1, 1}, Shape{3, 7, 5, 19}, Shape{2, 9, 11, 64});
  INFO(trial << ", " << image.text());
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values(image, trial.dtype, 1);
  const Values dy = random_values({image[0], image[3]}, trial.dtype, 2);
  const auto forward = [&](Device& on, const Tensor& input) {
    const Tensor y = unwritten(on, dy.shape, input.dtype());
    on.average_pool_forward(input, y);
    return from_device(on, y);
  };
  Values magnitudes = x;
  for (float& value : magnitudes.host) value = std::abs(value);
  check_near(repeated(trial, [&] { return forward(device, on_device(device, x)); }),
             forward(reference, in_f32(reference, x)),
             {trial.dtype, image[1] * image[2], forward(reference, in_f32(reference, magnitudes))});

  const auto backward = [&](Device& on, const Tensor& gradient) {
    const Tensor dx = unwritten(on, image, gradient.dtype());
    on.average_pool_backward(gradient, dx);
    return from_device(on, dx);
  };
  check_near(repeated(trial, [&] { return backward(device, on_device(device, dy)); }),
             backward(reference, in_f32(reference, dy)), {trial.dtype, 1});
}

TEST_CASE("subsampling moves values and adds zeros", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("subsample")));
  const auto [stride, channels, wider] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{1, 3, 3}, {2, 3, 3}, {2, 16, 32}, {2, 1, 4}, {3, 5, 12}}));
  INFO(trial << ", stride " << stride << ", " << channels << " -> " << wider << " channels");
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values({2, 7, 8, channels}, trial.dtype, 3);
  const Values dy =
      random_values({2, (7 + stride - 1) / stride, (8 + stride - 1) / stride, wider}, trial.dtype, 4);
  const auto forward = [&, by = stride](Device& on, const Tensor& input) {
    const Tensor y = unwritten(on, dy.shape, input.dtype());
    on.subsample_forward(input, by, y);
    return from_device(on, y);
  };
  const auto backward = [&, by = stride](Device& on, const Tensor& gradient) {
    const Tensor dx = unwritten(on, x.shape, gradient.dtype());
    on.subsample_backward(gradient, by, dx);
    return from_device(on, dx);
  };
  CHECK(repeated(trial, [&] { return forward(device, on_device(device, x)); }) ==
        forward(reference, in_f32(reference, x)));
  CHECK(repeated(trial, [&] { return backward(device, on_device(device, dy)); }) ==
        backward(reference, in_f32(reference, dy)));
}

TEST_CASE("the order of images, there and back", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("layout")));
  const Shape image = GENERATE(Shape{1, 1, 1, 1}, Shape{2, 3, 5, 7}, Shape{2, 9, 8, 70}, Shape{1, 8, 8, 32});
  INFO(trial << ", " << image.text());
  Device& device = *trial.device;
  CpuDevice reference;
  const Shape other{image[0], image[3], image[1], image[2]};
  const Values x = random_values(image, trial.dtype, 5);
  const auto reorder = [&](Device& on, const Tensor& input) {
    const Tensor y = unwritten(on, other, input.dtype());
    on.nhwc_to_nchw(input, y);
    return y;
  };
  CHECK(repeated(trial, [&] { return from_device(device, reorder(device, on_device(device, x))); }) ==
        from_device(reference, reorder(reference, in_f32(reference, x))));
  const Tensor back = unwritten(device, image, trial.dtype);
  device.nchw_to_nhwc(reorder(device, on_device(device, x)), back);
  CHECK(from_device(device, back) == x.host);
}

TEST_CASE("operations on images refuse shapes and types that do not fit", "[device][ops]") {
  for (const Trial& trial : f32_trials("average_pool")) {
    INFO(trial);
    Device& device = *trial.device;
    const Tensor x = device.zeros({1, 4, 4, 2}), y = device.zeros({1, 2, 2, 2});
    CHECK_THROWS_AS(device.average_pool_forward(x, device.zeros({1, 3})), Error);
    CHECK_THROWS_AS(device.average_pool_backward(device.zeros({1, 3}), x), Error);
    CHECK_THROWS_AS(device.subsample_forward(x, 0, y), Error);
    CHECK_THROWS_AS(device.subsample_forward(x, 3, device.zeros({1, 1, 2, 2})), Error);
    CHECK_THROWS_AS(device.subsample_backward(device.zeros({1, 2, 2, 1}), 2, x), Error);
    CHECK_THROWS_AS(device.nhwc_to_nchw(x, y), Error);
    CHECK_THROWS_AS(device.nchw_to_nhwc(x, y), Error);
    CHECK_THROWS_AS(device.nhwc_to_nchw(x, device.empty({1, 2, 4, 4}, DType::i64)), Error);
    CHECK_THROWS_AS(device.nhwc_to_nchw(device.empty({1, 4, 4, 2}, DType::i64), device.zeros({1, 2, 4, 4})),
                    Error);
  }
}
