#include "device/cpu/overlapping_max_pool.h"

#include <algorithm>
#include <limits>

#include "core/vector.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device::cpu {

namespace {

constexpr std::uint8_t no_winner = 255;

struct Geometry {
  std::int64_t height, width, channels, out_height, out_width;
  PoolWindow window;
};

Geometry geometry_of(const Shape& image, const PoolWindow& window) {
  return {image[1], image[2], image[3], window_output(image[1], window), window_output(image[2], window),
          window};
}

// Calls body(place, pixel) for each pixel of the window at output (row, column) that lies in the image, with
// its place in the window and its number in the image.
template <class Body>
LOCKSTEP_INLINE void for_each_pixel(const Geometry& g, std::int64_t row, std::int64_t column,
                                    const Body& body) {
  const std::int64_t top = row * g.window.stride - g.window.padding;
  const std::int64_t left = column * g.window.stride - g.window.padding;
  for (std::int64_t i = std::max<std::int64_t>(0, -top); i < std::min(g.window.size, g.height - top); ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, -left); j < std::min(g.window.size, g.width - left);
         ++j) {
      body(static_cast<std::uint8_t>(i * g.window.size + j), (top + i) * g.width + left + j);
    }
  }
}

// `y` holds the largest value so far.
LOCKSTEP_INLINE void compare(const float* x, std::uint8_t place, std::int64_t channels, float* y,
                             std::uint8_t* index) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    const float value = x[c];
    const float before = y[c];
    const std::uint8_t winner = index[c];
    // NaN wins, so that it reaches the loss.
    const bool larger = (value > before) | (value != value);
    y[c] = larger ? value : before;
    index[c] = larger ? place : winner;
  }
}

LOCKSTEP_VECTOR_CLONES
void forward_row(const float* x, const Geometry& g, std::int64_t row, float floor, float* y,
                 std::uint8_t* index) {
  for (std::int64_t column = 0; column < g.out_width; ++column, y += g.channels, index += g.channels) {
    std::fill(y, y + g.channels, floor);
    std::fill(index, index + g.channels, no_winner);
    for_each_pixel(g, row, column, [&](std::uint8_t place, std::int64_t pixel) {
      compare(x + pixel * g.channels, place, g.channels, y, index);
    });
  }
}

LOCKSTEP_INLINE void spread(const float* dy, const std::uint8_t* index, std::uint8_t place,
                            std::int64_t channels, float* dx) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    const float gradient = dy[c];
    dx[c] += index[c] == place ? gradient : 0.f;
  }
}

// A pixel's windows are added in the order of the output.
LOCKSTEP_VECTOR_CLONES
void backward_image(const float* dy, const std::uint8_t* index, const Geometry& g, float* dx) {
  std::fill(dx, dx + g.height * g.width * g.channels, 0.f);
  for (std::int64_t row = 0; row < g.out_height; ++row) {
    for (std::int64_t column = 0; column < g.out_width; ++column, dy += g.channels, index += g.channels) {
      for_each_pixel(g, row, column, [&](std::uint8_t place, std::int64_t pixel) {
        spread(dy, index, place, g.channels, dx + pixel * g.channels);
      });
    }
  }
}

}  // namespace

Shape pooled_shape(const Shape& image, const PoolWindow& window) {
  return {image[0], window_output(image[1], window), window_output(image[2], window), image[3]};
}

void overlapping_max_pool_forward(int threads, const Tensor& x, const PoolWindow& window,
                                  Activation activation, const Tensor& y, const Tensor& index) {
  const Geometry g = geometry_of(x.shape(), window);
  // With relu, what does not exceed 0 has no winner.
  const float floor = is_relu(activation, "max_pool") ? 0.f : -std::numeric_limits<float>::infinity();
  const std::int64_t image = g.height * g.width * g.channels;
  const std::int64_t out_row = g.out_width * g.channels;
  const std::int64_t out_image = g.out_height * out_row;
  const Values from(x);
  const Values to(y);
  std::uint8_t* winners = index.u8();
  for_each_chunk(threads, x.shape()[0], 1, [=, &g](std::int64_t n, std::int64_t) {
    const auto input = from.read(n * image, image);
    const auto output = to.write(n * out_image, out_image);
    for (std::int64_t row = 0; row < g.out_height; ++row) {
      forward_row(input.data(), g, row, floor, output.data() + row * out_row,
                  winners + n * out_image + row * out_row);
    }
  });
}

void overlapping_max_pool_backward(int threads, const Tensor& dy, const Tensor& index,
                                   const PoolWindow& window, const Tensor& dx) {
  const Geometry g = geometry_of(dx.shape(), window);
  const std::int64_t image = g.height * g.width * g.channels;
  const std::int64_t out_image = g.out_height * g.out_width * g.channels;
  const Values from(dy);
  const std::uint8_t* winners = index.u8();
  const Values to(dx);
  for_each_chunk(threads, dx.shape()[0], 1, [=, &g](std::int64_t n, std::int64_t) {
    const auto input = from.read(n * out_image, out_image);
    backward_image(input.data(), winners + n * out_image, g, to.write(n * image, image).data());
  });
}

}  // namespace lockstep::device::cpu
