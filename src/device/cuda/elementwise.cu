// fill, copy, cast, scale, axpy, lerp.
#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"

namespace lockstep::device {

namespace {

struct Constant {
  float value;
  __device__ float operator()() const { return value; }
};

struct Same {
  __device__ float operator()(float x) const { return x; }
};

struct Scale {
  float a;
  __device__ void operator()(float& x) const { x *= a; }
};

struct Axpy {
  float a;
  __device__ float operator()(float x, float y) const { return y + a * x; }
};

struct Lerp {
  float weight;
  __device__ void operator()(const float& x, float& y) const { y += weight * (x - y); }
};

}  // namespace

void CudaDevice::fill(float value, const Tensor& x) {
  cuda::for_values(
      x, [&](auto type) { cuda::map("fill", stream(), Constant{value}, cuda::writes<decltype(type)>(x)); });
}

void CudaDevice::copy(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "copy: y");
  if (x.dtype() != y.dtype()) {
    throw Error(ExitCode::internal,
                "copy: from " + std::string(name_of(x.dtype())) + " to " + std::string(name_of(y.dtype())));
  }
  if (x.bytes() == 0) return;
  cuda::check(cudaMemcpyAsync(y.data(), x.data(), x.bytes(), cudaMemcpyDeviceToDevice, stream()), "copy");
}

void CudaDevice::cast(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "cast: y");
  cuda::for_values(x, [&](auto from) {
    cuda::for_values(y, [&](auto to) {
      cuda::map("cast", stream(), Same(), cuda::writes<decltype(to)>(y), cuda::reads<decltype(from)>(x));
    });
  });
}

void CudaDevice::scale(float a, const Tensor& x) {
  cuda::update("scale", stream(), Scale{a}, cuda::updates<float>(x));
}

void CudaDevice::axpy(float a, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "axpy: y");
  cuda::for_values(y, [&](auto type) {
    using T = decltype(type);
    cuda::map("axpy", stream(), Axpy{a}, cuda::writes<T>(y), cuda::reads<T>(x), cuda::reads<T>(y));
  });
}

void CudaDevice::lerp(float weight, const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "lerp: y");
  cuda::update("lerp", stream(), Lerp{weight}, cuda::reads<float>(x), cuda::updates<float>(y));
}

}  // namespace lockstep::device
