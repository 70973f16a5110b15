// The shortcut without parameters: every stride-th pixel, further channels zero.
#include "device/cuda/cuda_device.h"
#include "device/cuda/packs.h"

namespace lockstep::device {

namespace {

// The fine image [n, height, width, channels] and the coarse one [n, out_height, out_width, out_channels].
struct Geometry {
  unsigned height, width, channels;
  unsigned out_height, out_width, out_channels;
  unsigned stride;
  unsigned before;  // new channels in front
};

struct Place {
  unsigned image, row, column, channel;
};

__device__ Place place_of(unsigned number, unsigned height, unsigned width, unsigned channels) {
  Place place;
  place.channel = number % channels;
  number /= channels;
  place.column = number % width;
  number /= width;
  place.row = number % height;
  place.image = number / height;
  return place;
}

template <typename T>
__global__ void take_pixels(const T* x, Geometry g, unsigned count, T* y) {
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    const Place out = place_of(static_cast<unsigned>(i), g.out_height, g.out_width, g.out_channels);
    T value = cuda::from_float<T>(0.f);
    if (out.channel >= g.before && out.channel - g.before < g.channels) {
      const std::int64_t stride = g.stride;
      const std::int64_t row = static_cast<std::int64_t>(out.image) * g.height + out.row * stride;
      value = x[(row * g.width + out.column * stride) * g.channels + out.channel - g.before];
    }
    y[i] = value;
  }
}

template <typename T>
__global__ void put_pixels(const T* dy, Geometry g, unsigned count, T* dx) {
  for (std::int64_t i = cuda::first_element(); i < count; i += cuda::element_stride()) {
    const Place in = place_of(static_cast<unsigned>(i), g.height, g.width, g.channels);
    T value = cuda::from_float<T>(0.f);
    if (in.row % g.stride == 0 && in.column % g.stride == 0) {
      const std::int64_t row = static_cast<std::int64_t>(in.image) * g.out_height + in.row / g.stride;
      value = dy[(row * g.out_width + in.column / g.stride) * g.out_channels + g.before + in.channel];
    }
    dx[i] = value;
  }
}

Geometry geometry_of(const Tensor& fine, std::int64_t stride, const Tensor& coarse) {
  const Shape& in = fine.shape();
  const Shape& out = coarse.shape();
  if (stride < 1 || out.rank() != 4 || out[3] < in[3]) {
    throw Error(ExitCode::internal, "subsample by " + std::to_string(stride) + ": " + in.text() +
                                        " does not become " + out.text());
  }
  require_shape(coarse, {in[0], (in[1] + stride - 1) / stride, (in[2] + stride - 1) / stride, out[3]},
                "subsample: image out");
  const auto small = [](std::int64_t value) { return cuda::narrow_count(value); };
  return {small(in[1]),  small(in[2]),  small(in[3]),  small(out[1]),
          small(out[2]), small(out[3]), small(stride), small((out[3] - in[3]) / 2)};
}

}  // namespace

void CudaDevice::subsample_forward(const Tensor& x, std::int64_t stride, const Tensor& y) {
  const Geometry g = geometry_of(x, stride, y);
  const std::uint32_t count = cuda::narrow_count(y.count());
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((take_pixels<T>), cuda::grid_over(count), stream(), cuda::reads<T>(x), g, count,
                    cuda::writes<T>(y));
  });
}

void CudaDevice::subsample_backward(const Tensor& dy, std::int64_t stride, const Tensor& dx) {
  const Geometry g = geometry_of(dx, stride, dy);
  const std::uint32_t count = cuda::narrow_count(dx.count());
  cuda::for_values(dy, [&](auto type) {
    using T = decltype(type);
    LOCKSTEP_LAUNCH((put_pixels<T>), cuda::grid_over(count), stream(), cuda::reads<T>(dy), g, count,
                    cuda::writes<T>(dx));
  });
}

}  // namespace lockstep::device
