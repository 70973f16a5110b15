// Convolutions: cuDNN's three calls on images in NHWC, by the algorithms that src/device/cuda/convolutions.h
// names. That they take each type in this layout is documented only in part: here it shows.
#include <algorithm>

#include "checks.h"

namespace lockstep::gpu_ops {

namespace {

struct Case {
  std::int64_t n, height, width, in, out, kernel, stride, padding;
};

std::string text_of(const Case& c) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  return text(c.n) + " images [" + text(c.height) + ", " + text(c.width) + ", " + text(c.in) + "] to " +
         text(c.out) + ", " + text(c.kernel) + "x" + text(c.kernel) + ", stride " + text(c.stride) +
         ", padding " + text(c.padding);
}

// Calls visit(place in x, place in weight, place in y) for each product of the convolution.
template <typename Visit>
void for_each_product(const Case& c, Visit visit) {
  const device::Conv2dOptions options{c.stride, c.padding};
  const std::int64_t rows = window_output(c.height, c.kernel, options);
  const std::int64_t columns = window_output(c.width, c.kernel, options);
  for (std::int64_t image = 0; image < c.n; ++image) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t i = 0; i < c.kernel; ++i) {
          for (std::int64_t j = 0; j < c.kernel; ++j) {
            const std::int64_t y = row * c.stride + i - c.padding, x = column * c.stride + j - c.padding;
            if (y < 0 || y >= c.height || x < 0 || x >= c.width) continue;
            const std::int64_t pixel_in = (image * c.height + y) * c.width + x;
            const std::int64_t pixel_out = (image * rows + row) * columns + column;
            for (std::int64_t out = 0; out < c.out; ++out) {
              for (std::int64_t in = 0; in < c.in; ++in) {
                visit(static_cast<std::size_t>(pixel_in * c.in + in),
                      static_cast<std::size_t>(((out * c.in + in) * c.kernel + i) * c.kernel + j),
                      static_cast<std::size_t>(pixel_out * c.out + out));
              }
            }
          }
        }
      }
    }
  }
}

void check_case(Checks& checks, const Case& c, DType dtype) {
  Device& device = checks.device();
  const device::Conv2dOptions options{c.stride, c.padding};
  const Shape x_shape{c.n, c.height, c.width, c.in};
  const Shape weight_shape{c.out, c.in, c.kernel, c.kernel};
  const Shape y_shape{c.n, window_output(c.height, c.kernel, options),
                      window_output(c.width, c.kernel, options), c.out};
  const Values x = simple_values(x_shape.count(), 1), weight = simple_values(weight_shape.count(), 2);
  const Values bias = simple_values(c.out, 3), dy = simple_values(y_shape.count(), 4);
  const auto out = static_cast<std::size_t>(c.out);
  const Tensor x_there = upload(device, x_shape, x, dtype);
  const Tensor weight_there = upload(device, weight_shape, weight, dtype);
  const Tensor dy_there = upload(device, y_shape, dy, dtype);
  const std::string text = text_of(c) + ", " + type_of(dtype);

  checks.run("convolution of " + text, [&] {
    Values y(dy.size());
    for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { y[k] += x[i] * weight[j]; });
    const auto forward = [&] {
      const Tensor result = device.empty(y_shape, dtype);
      device.conv2d_forward(x_there, weight_there, {}, options, device::Activation::none, result);
      return result;
    };
    checks.equal("y", forward(), y);
    checks.repeats("y", forward);
    // The bias comes in a pass of its own, after the product was rounded.
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::max(rounded(y[i], dtype) + bias[i % out], 0.);
    const Tensor result = device.empty(y_shape, dtype);
    device.conv2d_forward(x_there, weight_there, upload(device, {c.out}, bias), options,
                          device::Activation::relu, result);
    checks.equal("y with bias and ReLU", result, y);
  });
  checks.run("convolution backward, data, of " + text, [&] {
    Values dx(x.size());
    for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { dx[i] += dy[k] * weight[j]; });
    const auto backward = [&] {
      const Tensor result = device.empty(x_shape, dtype);
      device.conv2d_backward_data(dy_there, weight_there, options, result);
      return result;
    };
    checks.equal("dx", backward(), dx);
    checks.repeats("dx", backward);
  });
  checks.run("convolution backward, weights, of " + text, [&] {
    Values dweight(weight.size()), dbias(out);
    for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { dweight[j] += dy[k] * x[i]; });
    for (double& value : dweight) value = rounded(value, dtype);  // cuDNN gives it in the images' type
    for (std::size_t i = 0; i < dy.size(); ++i) dbias[i % out] += dy[i];
    const Tensor bias_sums = device.zeros({c.out});
    const auto backward = [&] {
      const Tensor result = device.zeros(weight_shape);
      device.conv2d_backward_weights(x_there, dy_there, options, false, result, bias_sums);
      return result;
    };
    const Tensor result = backward();
    checks.equal("dweight", result, dweight);
    checks.equal("dbias", bias_sums, dbias);
    checks.repeats("dweight", backward);
    device.conv2d_backward_weights(x_there, dy_there, options, true, result, bias_sums);
    for (double& value : dweight) value *= 2.;
    checks.equal("dweight, added up", result, dweight);
  });
}

}  // namespace

void check_convolutions(Checks& checks) {
  const Case cases[] = {
      {2, 8, 8, 8, 16, 3, 1, 1},   // a resnet's usual layer
      {2, 9, 7, 16, 8, 3, 2, 1},   // one that halves, an odd image
      {2, 8, 8, 8, 16, 1, 2, 0},   // a shortcut
      {2, 11, 11, 3, 8, 7, 2, 3},  // a first layer for large images
      {3, 8, 8, 1, 4, 5, 1, 2},    // grey
      {1, 5, 5, 3, 7, 3, 1, 0},    // channels that no vector of 16 bytes fits
  };
  for (const DType dtype : types) {
    for (const Case& c : cases) check_case(checks, c, dtype);
  }
}

}  // namespace lockstep::gpu_ops
