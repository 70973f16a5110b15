#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"

namespace lockstep::device {

namespace {

struct Step {
  SgdArguments a;
  __device__ void operator()(const float& gradient, float& value, float& velocity) const {
    const float g = a.gradient_scale * gradient + a.weight_decay * value;
    velocity = a.momentum * velocity + g;
    value -= a.learning_rate * velocity;
  }
};

}  // namespace

void CudaDevice::sgd_step(const SgdArguments& arguments, const Tensor& gradient, const Tensor& value,
                          const Tensor& velocity) {
  require_shape(gradient, value.shape(), "sgd: gradient");
  require_shape(velocity, value.shape(), "sgd: velocity");
  cuda::update("sgd", stream(), Step{arguments}, cuda::reads<float>(gradient), cuda::updates<float>(value),
               cuda::updates<float>(velocity));
}

}  // namespace lockstep::device
