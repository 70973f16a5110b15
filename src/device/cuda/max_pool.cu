// Max-pooling. Own kernels and not cuDNN's: the winners' places are kept in a byte each, so that the backward
// pass needs neither x nor y, and NaN wins, as on the CPU.
#include <limits>

#include "device/cuda/cuda_device.h"
#include "device/cuda/packs.h"

namespace lockstep::device {

namespace {

constexpr int no_winner = 255;

struct Geometry {
  int height, width, out_height, out_width;
  int size, stride, padding;
  unsigned packs;  // of channels, in a pixel
};

// A pack of channels of one pixel; from its number, counted over all images.
struct Place {
  unsigned image;
  int row, column;
  unsigned pack;
};

__device__ Place place_of(unsigned number, int height, int width, unsigned packs) {
  Place place;
  place.pack = number % packs;
  number /= packs;
  place.column = static_cast<int>(number % static_cast<unsigned>(width));
  number /= static_cast<unsigned>(width);
  place.row = static_cast<int>(number % static_cast<unsigned>(height));
  place.image = number / static_cast<unsigned>(height);
  return place;
}

// Where the pack of a pixel begins, in packs.
__device__ std::int64_t pack_at(const Geometry& g, unsigned image, int height, int width, int row, int column,
                                unsigned pack) {
  return ((static_cast<std::int64_t>(image) * height + row) * width + column) * g.packs + pack;
}

template <int n>
struct alignas(n) Winners {
  std::uint8_t places[n];
};

// One thread: one pack of one window. Nothing below `floor` wins; with ReLU that is 0.
template <typename T, int n>
__global__ void pool_windows(const T* x, Geometry g, unsigned count, float floor, bool aligned, T* y,
                             std::uint8_t* index) {
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    const Place out = place_of(static_cast<unsigned>(i), g.out_height, g.out_width, g.packs);
    const int top = out.row * g.stride - g.padding;
    const int left = out.column * g.stride - g.padding;
    float best[n];
    int winner[n];
    for (int c = 0; c < n; ++c) {
      best[c] = floor;
      winner[c] = no_winner;
    }
    for (int row = 0; row < g.size; ++row) {
      if (top + row < 0 || top + row >= g.height) continue;
      for (int column = 0; column < g.size; ++column) {
        if (left + column < 0 || left + column >= g.width) continue;
        float values[n];
        cuda::load<T, n>(x + n * pack_at(g, out.image, g.height, g.width, top + row, left + column, out.pack),
                         aligned, values);
        for (int c = 0; c < n; ++c) {
          // NaN wins, so that it reaches the loss.
          if (values[c] > best[c] || values[c] != values[c]) {
            best[c] = values[c];
            winner[c] = row * g.size + column;
          }
        }
      }
    }
    cuda::store<T, n>(y + n * i, aligned, best);
    Winners<n> winners;
    for (int c = 0; c < n; ++c) winners.places[c] = static_cast<std::uint8_t>(winner[c]);
    if (aligned) {
      *reinterpret_cast<Winners<n>*>(index + n * i) = winners;
    } else {
      for (int c = 0; c < n; ++c) index[n * i + c] = winners.places[c];
    }
  }
}

// One thread: one pack of one pixel of x. It asks the windows that cover the pixel, in the order of the
// output, so no two threads add to one place.
template <typename T, int n>
__global__ void gather_gradients(const T* dy, const std::uint8_t* index, Geometry g, unsigned count,
                                 bool aligned, T* dx) {
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    const Place in = place_of(static_cast<unsigned>(i), g.height, g.width, g.packs);
    const int bottom = in.row + g.padding;
    const int right = in.column + g.padding;
    const int first_row = bottom < g.size ? 0 : (bottom - g.size) / g.stride + 1;
    const int first_column = right < g.size ? 0 : (right - g.size) / g.stride + 1;
    float sum[n] = {};
    for (int row = first_row; row < g.out_height && row * g.stride <= bottom; ++row) {
      for (int column = first_column; column < g.out_width && column * g.stride <= right; ++column) {
        const int place = (bottom - row * g.stride) * g.size + right - column * g.stride;
        const std::int64_t at = n * pack_at(g, in.image, g.out_height, g.out_width, row, column, in.pack);
        float gradient[n];
        cuda::load<T, n>(dy + at, aligned, gradient);
        Winners<n> winners;
        if (aligned) {
          winners = *reinterpret_cast<const Winners<n>*>(index + at);
        } else {
          for (int c = 0; c < n; ++c) winners.places[c] = index[at + c];
        }
        for (int c = 0; c < n; ++c) sum[c] += winners.places[c] == place ? gradient[c] : 0.f;
      }
    }
    cuda::store<T, n>(dx + n * i, aligned, sum);
  }
}

// Checks the shapes. `n`: channels of a pack.
Geometry geometry_of(const Tensor& image, const PoolWindow& window, const Tensor& pooled, const Tensor& index,
                     int n) {
  if (window.size < 1 || window.size > 15) {
    throw Error(ExitCode::internal,
                "max_pool: the window's size is " + std::to_string(window.size) + ", wanted 1..15");
  }
  const Shape& s = image.shape();
  const Shape out{s[0], window_output(s[1], window), window_output(s[2], window), s[3]};
  require_shape(pooled, out, "max_pool: pooled image");
  require_shape(index, out, "max_pool: index");
  const auto small = [](std::int64_t value) { return static_cast<int>(cuda::narrow_count(value)); };
  return {small(s[1]),        small(s[2]),          small(out[1]),         small(out[2]),
          small(window.size), small(window.stride), small(window.padding), cuda::narrow_count(s[3] / n)};
}

}  // namespace

void CudaDevice::max_pool_forward(const Tensor& x, const PoolWindow& window, Activation activation,
                                  const Tensor& y, const Tensor& index) {
  cuda::for_packs(x, x.shape()[3], [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int n = decltype(width)::value;
    const Geometry g = geometry_of(x, window, y, index, n);
    const std::uint32_t count = cuda::narrow_count(y.count() / n);
    const float floor = is_relu(activation, "max_pool") ? 0.f : -std::numeric_limits<float>::infinity();
    LOCKSTEP_LAUNCH((pool_windows<T, n>), cuda::grid_over(count), stream(), cuda::reads<T>(x), g, count,
                    floor, cuda::are_aligned(n, {&x, &y, &index}), cuda::writes<T>(y),
                    cuda::writes<std::uint8_t>(index));
  });
}

void CudaDevice::max_pool_backward(const Tensor& dy, const Tensor& index, const PoolWindow& window,
                                   const Tensor& dx) {
  cuda::for_packs(dy, dx.shape()[3], [&](auto type, auto width) {
    using T = decltype(type);
    constexpr int n = decltype(width)::value;
    const Geometry g = geometry_of(dx, window, dy, index, n);
    const std::uint32_t count = cuda::narrow_count(dx.count() / n);
    LOCKSTEP_LAUNCH((gather_gradients<T, n>), cuda::grid_over(count), stream(), cuda::reads<T>(dy),
                    cuda::reads<std::uint8_t>(index), g, count, cuda::are_aligned(n, {&dy, &index, &dx}),
                    cuda::writes<T>(dx));
  });
}

}  // namespace lockstep::device
