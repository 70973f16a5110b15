#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"

namespace lockstep::device {

namespace {

// `x < 0 ? 0 : x` keeps NaN, as `x > 0 ? x : 0` and fmaxf would not: a diverged run must show in the loss.
struct Forward {
  __device__ float operator()(float x) const { return x < 0.f ? 0.f : x; }
};

struct Backward {
  __device__ float operator()(float dy, float y) const { return y > 0.f ? dy : 0.f; }
};

}  // namespace

void CudaDevice::relu_forward(const Tensor& x, const Tensor& y) {
  require_shape(y, x.shape(), "relu: y");
  cuda::for_values(x, [&](auto type) {
    using T = decltype(type);
    cuda::map("relu", stream(), Forward(), cuda::writes<T>(y), cuda::reads<T>(x));
  });
}

void CudaDevice::relu_backward(const Tensor& dy, const Tensor& y, const Tensor& dx) {
  require_shape(y, dy.shape(), "relu backward: y");
  require_shape(dx, dy.shape(), "relu backward: dx");
  cuda::for_values(dy, [&](auto type) {
    using T = decltype(type);
    cuda::map("relu backward", stream(), Backward(), cuda::writes<T>(dx), cuda::reads<T>(dy),
              cuda::reads<T>(y));
  });
}

}  // namespace lockstep::device
