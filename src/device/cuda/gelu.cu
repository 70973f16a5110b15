#include "device/gelu.h"

#include <cmath>

#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"

namespace lockstep::device {

namespace {

struct Exp {
  LOCKSTEP_HOST_DEVICE float operator()(float z) const { return std::exp(z); }
};

struct Forward {
  __device__ float operator()(float x) const { return x * gelu_at(x, Exp()).share; }
};

struct Backward {
  __device__ float operator()(float dy, float x) const { return dy * gelu_at(x, Exp()).slope; }
};

}  // namespace

void CudaDevice::gelu_forward(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "gelu: y");
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    cuda::map("gelu", stream(), Forward(), cuda::writes<T>(y), cuda::reads<T>(x));
  });
}

void CudaDevice::gelu_backward(const Tensor& dy, const Tensor& x, const Tensor& dx) {
  require_shape(x, dy.shape(), "gelu backward: x");
  require_shape(dx, dy.shape(), "gelu backward: dx");
  cuda::for_values(dy, [&](auto type) {
    using T = decltype(type);
    cuda::map("gelu backward", stream(), Backward(), cuda::writes<T>(dx), cuda::reads<T>(dy),
              cuda::reads<T>(x));
  });
}

}  // namespace lockstep::device
