// Batch normalisation over the last extent. Loops of ours: oneDNN's primitive sums in f32, cuts the sums by
// thread, and cannot add the residual in the same pass.
#include <cmath>
#include <vector>

#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/parallel.h"
#include "device/cpu/values.h"

namespace lockstep::device {

namespace {

constexpr std::int64_t block = 16;  // channels at a time: their sums and factors stay in registers

// Two sums per channel, [channels] each, behind one another.
using Sums = std::vector<double>;

struct Extent {
  std::int64_t pixels, channels;
  std::int64_t pixels_per_chunk() const {
    return std::max<std::int64_t>(1, cpu::elements_per_chunk / channels);
  }
};

Extent extent_of(const Tensor& x) {
  const std::int64_t channels = x.shape()[x.shape().rank() - 1];
  return {x.count() / channels, channels};
}

// Adds up, in order, what `part` makes of each chunk of pixels.
template <class Part>
Sums sum_chunks(int threads, const Extent& e, const Part& part) {
  const std::int64_t chunk = e.pixels_per_chunk();
  const std::int64_t size = 2 * e.channels;
  Sums parts(static_cast<std::size_t>((e.pixels + chunk - 1) / chunk * size));
  cpu::for_each_chunk(threads, e.pixels, chunk, [&](std::int64_t first, std::int64_t last) {
    part(first, last - first, parts.data() + first / chunk * size);
  });
  Sums sums(parts.begin(), parts.begin() + size);
  for (auto next = parts.begin() + size; next != parts.end(); next += size) {
    for (std::int64_t i = 0; i < size; ++i) sums[static_cast<std::size_t>(i)] += next[i];
  }
  return sums;
}

LOCKSTEP_INLINE void sum_block(const float* x, const Extent& e, std::int64_t width, double* sum,
                               double* square) {
  double s[block] = {};
  double q[block] = {};
  for (std::int64_t pixel = 0; pixel < e.pixels; ++pixel, x += e.channels) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const double value = x[c];
      s[c] += value;
      q[c] += value * value;
    }
  }
  for (std::int64_t c = 0; c < width; ++c) {
    sum[c] = s[c];
    square[c] = q[c];
  }
}

// Sums of x and of x^2. In f64 the products are exact, and so the difference below loses nothing that f32
// had.
LOCKSTEP_VECTOR_CLONES
void sum_powers(const float* x, const Extent& e, double* sums) {
  std::int64_t c = 0;
  for (; c + block <= e.channels; c += block) sum_block(x + c, e, block, sums + c, sums + e.channels + c);
  if (c < e.channels) sum_block(x + c, e, e.channels - c, sums + c, sums + e.channels + c);
}

// Per channel: y = (x - mean) factor + shift.
struct Affine {
  std::vector<float> mean, factor, shift;
};

template <bool relu, bool residual>
LOCKSTEP_INLINE void normalise_block(const float* x, const float* added, const Extent& e, std::int64_t width,
                                     const float* mean, const float* factor, const float* shift, float* y) {
  float m[block], f[block], s[block];
  for (std::int64_t c = 0; c < width; ++c) {
    m[c] = mean[c];
    f[c] = factor[c];
    s[c] = shift[c];
  }
  for (std::int64_t pixel = 0; pixel < e.pixels; ++pixel) {
    const std::int64_t at = pixel * e.channels;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      float value = (x[at + c] - m[c]) * f[c] + s[c];
      if constexpr (residual) value += added[at + c];
      // Keeps NaN.
      y[at + c] = relu && value < 0.f ? 0.f : value;
    }
  }
}

template <bool relu, bool residual>
LOCKSTEP_INLINE void normalise_blocks(const float* x, const float* added, const Extent& e,
                                      const Affine& affine, float* y) {
  for (std::int64_t c = 0; c < e.channels; c += block) {
    const float* other = residual ? added + c : nullptr;
    const float* mean = affine.mean.data() + c;
    const float* factor = affine.factor.data() + c;
    const float* shift = affine.shift.data() + c;
    if (c + block <= e.channels) {
      normalise_block<relu, residual>(x + c, other, e, block, mean, factor, shift, y + c);
    } else {
      normalise_block<relu, residual>(x + c, other, e, e.channels - c, mean, factor, shift, y + c);
    }
  }
}

LOCKSTEP_VECTOR_CLONES
void normalise(const float* x, const float* residual, bool relu, const Extent& e, const Affine& affine,
               float* y) {
  if (relu && residual != nullptr) {
    normalise_blocks<true, true>(x, residual, e, affine, y);
  } else if (relu) {
    normalise_blocks<true, false>(x, nullptr, e, affine, y);
  } else if (residual != nullptr) {
    normalise_blocks<false, true>(x, residual, e, affine, y);
  } else {
    normalise_blocks<false, false>(x, nullptr, e, affine, y);
  }
}

template <bool relu>
LOCKSTEP_INLINE void sum_gradient_block(const float* x, const float* mean, const float* y, const Extent& e,
                                        std::int64_t width, float* dy, double* sum, double* product) {
  double s[block] = {};
  double p[block] = {};
  float m[block], g[block], d[block];
  for (std::int64_t c = 0; c < width; ++c) m[c] = mean[c];
  for (std::int64_t pixel = 0; pixel < e.pixels; ++pixel) {
    const std::int64_t at = pixel * e.channels;
    // A loop for each type: the compiler makes vectors of neither where they are mixed.
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      const float whole = dy[at + c];
      g[c] = !relu || y[at + c] > 0.f ? whole : 0.f;
      d[c] = x[at + c] - m[c];
    }
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      s[c] += static_cast<double>(g[c]);
      p[c] += static_cast<double>(g[c]) * static_cast<double>(d[c]);
    }
    if constexpr (relu) {
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) dy[at + c] = g[c];
    }
  }
  for (std::int64_t c = 0; c < width; ++c) {
    sum[c] = s[c];
    product[c] = p[c];
  }
}

template <bool relu>
LOCKSTEP_INLINE void sum_gradient_blocks(const float* x, const float* mean, const float* y, const Extent& e,
                                         float* dy, double* sums) {
  for (std::int64_t c = 0; c < e.channels; c += block) {
    const float* output = relu ? y + c : nullptr;
    double* sum = sums + c;
    double* product = sums + e.channels + c;
    if (c + block <= e.channels) {
      sum_gradient_block<relu>(x + c, mean + c, output, e, block, dy + c, sum, product);
    } else {
      sum_gradient_block<relu>(x + c, mean + c, output, e, e.channels - c, dy + c, sum, product);
    }
  }
}

// Sums of dy and of dy (x - mean); with relu (y not null), dy is cut to where y > 0 before.
LOCKSTEP_VECTOR_CLONES
void sum_gradients(const float* x, const float* mean, const float* y, const Extent& e, float* dy,
                   double* sums) {
  if (y != nullptr) {
    sum_gradient_blocks<true>(x, mean, y, e, dy, sums);
  } else {
    sum_gradient_blocks<false>(x, mean, nullptr, e, dy, sums);
  }
}

// Per channel: dx = factor (dy - constant - slope (x - mean)).
struct Slope {
  std::vector<float> factor, constant, slope;
};

LOCKSTEP_INLINE void propagate_block(const float* x, const float* mean, const Slope& g, std::int64_t first,
                                     const Extent& e, std::int64_t width, const float* dy, float* dx) {
  float m[block], f[block], k[block], l[block];
  for (std::int64_t c = 0; c < width; ++c) {
    const auto at = static_cast<std::size_t>(first + c);
    m[c] = mean[at];
    f[c] = g.factor[at];
    k[c] = g.constant[at];
    l[c] = g.slope[at];
  }
  for (std::int64_t pixel = 0; pixel < e.pixels; ++pixel) {
    const std::int64_t at = pixel * e.channels + first;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
      dx[at + c] = f[c] * (dy[at + c] - k[c] - l[c] * (x[at + c] - m[c]));
    }
  }
}

LOCKSTEP_VECTOR_CLONES
void propagate(const float* x, const float* mean, const Slope& g, const Extent& e, const float* dy,
               float* dx) {
  std::int64_t c = 0;
  for (; c + block <= e.channels; c += block) propagate_block(x, mean, g, c, e, block, dy, dx);
  if (c < e.channels) propagate_block(x, mean, g, c, e, e.channels - c, dy, dx);
}

double inverse_deviation(const ChannelMoments& moments, std::size_t channel) {
  return 1. / std::sqrt(static_cast<double>(moments.variance.f32()[channel]) +
                        static_cast<double>(moments.epsilon));
}

void put(double value, bool accumulate, float& to) {
  to = accumulate ? to + static_cast<float>(value) : static_cast<float>(value);
}

}  // namespace

void CpuDevice::channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) {
  const Extent e = extent_of(x);
  require_shape(mean, {e.channels}, "channel_moments: mean");
  require_shape(variance, {e.channels}, "channel_moments: variance");
  const cpu::Values from(x);
  const Sums sums =
      sum_chunks(threads_, e, [from, &e](std::int64_t first, std::int64_t pixels, double* part) {
        const auto input = from.read(first * e.channels, pixels * e.channels);
        sum_powers(input.data(), {pixels, e.channels}, part);
      });
  const auto n = static_cast<double>(e.pixels);
  for (std::int64_t c = 0; c < e.channels; ++c) {
    const double average = sums[static_cast<std::size_t>(c)] / n;
    const double squares = sums[static_cast<std::size_t>(e.channels + c)] / n;
    mean.f32()[c] = static_cast<float>(average);
    // Rounding may leave less than 0; NaN stays.
    const double spread = squares - average * average;
    variance.f32()[c] = static_cast<float>(spread < 0. ? 0. : spread);
  }
}

void CpuDevice::batch_norm_forward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                   const Tensor& shift, const Tensor& residual, Activation activation,
                                   const Tensor& y) {
  const Extent e = extent_of(x);
  for (const Tensor& tensor : {moments.mean, moments.variance, scale, shift}) {
    require_shape(tensor, {e.channels}, "batch_norm: a channel's value");
  }
  if (residual) require_shape(residual, x.shape(), "batch_norm: residual");
  require_shape(y, x.shape(), "batch_norm: y");
  const auto channels = static_cast<std::size_t>(e.channels);
  Affine affine{{moments.mean.f32(), moments.mean.f32() + e.channels},
                std::vector<float>(channels),
                {shift.f32(), shift.f32() + e.channels}};
  for (std::size_t c = 0; c < channels; ++c) {
    affine.factor[c] =
        static_cast<float>(static_cast<double>(scale.f32()[c]) * inverse_deviation(moments, c));
  }
  const cpu::Values from(x);
  const auto added = cpu::Values::optional(residual);
  const bool relu = is_relu(activation, "batch_norm");
  const cpu::Values to(y);
  cpu::for_each_chunk(threads_, e.pixels, e.pixels_per_chunk(),
                      [=, &e, &affine](std::int64_t first, std::int64_t last) {
                        const std::int64_t at = first * e.channels;
                        const std::int64_t count = (last - first) * e.channels;
                        const auto input = from.read(at, count);
                        const auto other = added.read(at, count);
                        normalise(input.data(), other.data(), relu, {last - first, e.channels}, affine,
                                  to.write(at, count).data());
                      });
}

void CpuDevice::batch_norm_backward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                    Activation activation, const Tensor& y, const Tensor& dy, bool accumulate,
                                    const Tensor& dx, const Tensor& dscale, const Tensor& dshift) {
  const Extent e = extent_of(x);
  for (const Tensor& tensor : {moments.mean, moments.variance, scale, dscale, dshift}) {
    require_shape(tensor, {e.channels}, "batch_norm backward: a channel's value");
  }
  require_shape(dy, x.shape(), "batch_norm backward: dy");
  require_shape(dx, x.shape(), "batch_norm backward: dx");
  const bool relu = is_relu(activation, "batch_norm backward");
  if (relu) require_shape(y, x.shape(), "batch_norm backward: y");
  const cpu::Values input(x);
  const float* mean = moments.mean.f32();
  const auto output = cpu::Values::optional(relu ? y : Tensor());
  const cpu::Values gradient(dy);
  const Sums sums = sum_chunks(threads_, e, [=, &e](std::int64_t first, std::int64_t pixels, double* part) {
    const std::int64_t at = first * e.channels;
    const std::int64_t count = pixels * e.channels;
    const auto cut = relu ? gradient.update(at, count) : gradient.read(at, count);
    sum_gradients(input.read(at, count).data(), mean, output.read(at, count).data(), {pixels, e.channels},
                  cut.data(), part);
  });
  const auto channels = static_cast<std::size_t>(e.channels);
  const auto n = static_cast<double>(e.pixels);
  Slope slope{std::vector<float>(channels), std::vector<float>(channels), std::vector<float>(channels)};
  for (std::size_t c = 0; c < channels; ++c) {
    const double inverse = inverse_deviation(moments, c);
    const double sum = sums[c];
    const double product = sums[channels + c];
    slope.factor[c] = static_cast<float>(static_cast<double>(scale.f32()[c]) * inverse);
    slope.constant[c] = static_cast<float>(sum / n);
    slope.slope[c] = static_cast<float>(product * inverse * inverse / n);
    put(product * inverse, accumulate, dscale.f32()[c]);
    put(sum, accumulate, dshift.f32()[c]);
  }
  const cpu::Values to(dx);
  cpu::for_each_chunk(threads_, e.pixels, e.pixels_per_chunk(),
                      [=, &e, &slope](std::int64_t first, std::int64_t last) {
                        const std::int64_t at = first * e.channels;
                        const std::int64_t count = (last - first) * e.channels;
                        const auto from = gradient.read(at, count);
                        propagate(input.read(at, count).data(), mean, slope, {last - first, e.channels},
                                  from.data(), to.write(at, count).data());
                      });
}

}  // namespace lockstep::device
