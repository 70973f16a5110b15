// Pooling, batch normalisation, subsampling and the order of images: kernels of our own.
#include <algorithm>
#include <cmath>

#include "checks.h"

namespace lockstep::gpu_ops {

namespace {

std::size_t place(const Shape& shape, std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t c) {
  return static_cast<std::size_t>(((n * shape[1] + y) * shape[2] + x) * shape[3] + c);
}

void check_max_pool(Checks& checks, DType dtype, const device::PoolWindow& window) {
  Device& device = checks.device();
  const Shape in{3, 9, 8, 5};
  const Shape out{3, window_output(9, window), window_output(8, window), 5};
  const Values x = simple_values(in.count(), 1), dy = simple_values(out.count(), 2);
  Values y(dy.size()), dx(x.size());
  for (std::int64_t n = 0; n < 3; ++n) {
    for (std::int64_t row = 0; row < out[1]; ++row) {
      for (std::int64_t column = 0; column < out[2]; ++column) {
        for (std::int64_t c = 0; c < 5; ++c) {
          bool found = false;
          std::size_t best = 0;
          for (std::int64_t i = 0; i < window.size * window.size; ++i) {
            const std::int64_t at_y = row * window.stride + i / window.size - window.padding;
            const std::int64_t at_x = column * window.stride + i % window.size - window.padding;
            if (at_y < 0 || at_y >= in[1] || at_x < 0 || at_x >= in[2]) continue;
            const std::size_t here = place(in, n, at_y, at_x, c);
            if (!found || x[here] > x[best]) best = here;
            found = true;
          }
          y[place(out, n, row, column, c)] = x[best];
          dx[best] += dy[place(out, n, row, column, c)];
        }
      }
    }
  }
  checks.run("max-pooling " + std::to_string(window.size) + ", stride " + std::to_string(window.stride) +
                 ", " + type_of(dtype),
             [&] {
               const Tensor there = device.empty(out, dtype), index = device.empty(out, DType::u8),
                            back = device.empty(in, dtype);
               device.max_pool_forward(upload(device, in, x, dtype), window, device::Activation::none, there,
                                       index);
               checks.equal("y", there, y);
               device.max_pool_backward(upload(device, out, dy, dtype), index, window, back);
               checks.equal("dx", back, dx);
             });
}

void check_average_pool(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t n = 3, pixels = 16, channels = 33;
  const Values x = simple_values(n * pixels * channels, 3);
  checks.run("average pooling, " + type_of(dtype), [&] {
    Values mean(static_cast<std::size_t>(n * channels));
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean[i / (16 * 33) * 33 + i % 33] += x[i] / 16.;
    }
    const Tensor y = device.empty({n, channels}, dtype), dx = device.empty({n, 4, 4, channels}, dtype);
    device.average_pool_forward(upload(device, {n, 4, 4, channels}, x, dtype), y);
    checks.equal("y", y, mean);
    const Values dy = simple_values(n * channels, 4);
    device.average_pool_backward(upload(device, {n, channels}, dy, dtype), dx);
    Values wanted(x.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = dy[i / (16 * 33) * 33 + i % 33] / 16.;
    checks.equal("dx", dx, wanted);
  });
}

void check_batch_norm(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const std::int64_t rows = 4 * 7 * 7, channels = 24;
  const auto width = static_cast<std::size_t>(channels);
  const Shape shape{4, 7, 7, channels};
  const Values x = simple_values(rows * channels, 5), dy = simple_values(rows * channels, 6);
  const Values scale = full_values(channels, 7), shift = full_values(channels, 8);
  Values mean(width), variance(width);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % width] += x[i] / static_cast<double>(rows);
  for (std::size_t i = 0; i < x.size(); ++i) {
    variance[i % width] += std::pow(x[i] - mean[i % width], 2) / static_cast<double>(rows);
  }
  checks.run("batch normalisation, " + type_of(dtype), [&] {
    const Tensor there = upload(device, shape, x, dtype);
    const device::ChannelMoments moments{device.empty({channels}), device.empty({channels}), 1e-5f};
    device.channel_moments(there, moments.mean, moments.variance);
    checks.near("mean", moments.mean, mean, 1e-6);
    checks.near("variance", moments.variance, variance, 1e-6);
    checks.repeats("mean", [&] {
      device.channel_moments(there, moments.mean, moments.variance);
      return moments.mean;
    });
    const Tensor scale_there = upload(device, {channels}, scale),
                 shift_there = upload(device, {channels}, shift);
    const Tensor y = device.empty(shape, dtype);
    device.batch_norm_forward(there, moments, scale_there, shift_there, {}, device::Activation::none, y);
    Values normal(x.size()), wanted(x.size()), dscale(width), dshift(width);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % width;
      normal[i] = (x[i] - mean[c]) / std::sqrt(variance[c] + 1e-5);
      wanted[i] = normal[i] * scale[c] + shift[c];
      dscale[c] += dy[i] * normal[i];
      dshift[c] += dy[i];
    }
    checks.near("y", y, wanted, 2e-6);
    const Tensor dx = device.empty(shape, dtype), dscale_there = device.empty({channels}),
                 dshift_there = device.empty({channels});
    device.batch_norm_backward(there, moments, scale_there, device::Activation::none, y,
                               upload(device, shape, dy, dtype), false, dx, dscale_there, dshift_there);
    checks.near("dscale", dscale_there, dscale, 1e-5);
    checks.near("dshift", dshift_there, dshift, 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % width;
      const double rest = (dshift[c] + normal[i] * dscale[c]) / static_cast<double>(rows);
      wanted[i] = scale[c] / std::sqrt(variance[c] + 1e-5) * (dy[i] - rest);
    }
    checks.near("dx", dx, wanted, 5e-6);
  });
}

void check_order(Checks& checks, DType dtype) {
  Device& device = checks.device();
  const Shape in{2, 5, 6, 4}, turned{2, 4, 5, 6};
  const Values x = simple_values(in.count(), 9);
  checks.run("order of images and subsampling, " + type_of(dtype), [&] {
    Values wanted(x.size());
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const std::int64_t c = i % 4, pixel = i / 4 % 30, n = i / 120;
      wanted[static_cast<std::size_t>((n * 4 + c) * 30 + pixel)] = x[static_cast<std::size_t>(i)];
    }
    const Tensor there = upload(device, in, x, dtype), y = device.empty(turned, dtype),
                 back = device.empty(in, dtype);
    device.nhwc_to_nchw(there, y);
    checks.equal("nhwc to nchw", y, wanted);
    device.nchw_to_nhwc(y, back);
    checks.equal("nchw to nhwc", back, x);
    const Shape small{2, 3, 3, 8};
    Values sampled(static_cast<std::size_t>(small.count()));
    for (std::int64_t i = 0; i < small.count(); ++i) {
      const std::int64_t c = i % 8 - 2, column = i / 8 % 3, row = i / 24 % 3, n = i / 72;
      if (c >= 0 && c < 4) sampled[static_cast<std::size_t>(i)] = x[place(in, n, row * 2, column * 2, c)];
    }
    const Tensor part = device.empty(small, dtype);
    device.subsample_forward(there, 2, part);
    checks.equal("subsample", part, sampled);
  });
}

}  // namespace

void check_images(Checks& checks) {
  for (const DType dtype : types) {
    for (const device::PoolWindow& window : {device::PoolWindow{2, 2, 0}, device::PoolWindow{3, 2, 1}}) {
      check_max_pool(checks, dtype, window);
    }
    check_average_pool(checks, dtype);
    check_batch_norm(checks, dtype);
    check_order(checks, dtype);
  }
}

}  // namespace lockstep::gpu_ops
