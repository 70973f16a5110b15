#include <cmath>

#include "device/cuda/cuda_device.h"
#include "device/cuda/map.h"

namespace lockstep::device {

namespace {

struct Step {
  AdamwArguments a;
  __device__ void operator()(const float& gradient, float& value, float& exp_avg, float& exp_avg_sq) const {
    const float g = a.gradient_scale * gradient;
    exp_avg += a.exp_avg_weight * (g - exp_avg);
    exp_avg_sq = a.beta2 * exp_avg_sq + a.exp_avg_sq_weight * g * g;
    value =
        a.value_scale * value - a.step_size * exp_avg / (std::sqrt(exp_avg_sq) / a.root_correction + a.eps);
  }
};

}  // namespace

void CudaDevice::adamw_step(const AdamwArguments& arguments, const Tensor& gradient, const Tensor& value,
                            const Tensor& exp_avg, const Tensor& exp_avg_sq) {
  require_shape(gradient, value.shape(), "adamw: gradient");
  require_shape(exp_avg, value.shape(), "adamw: exp_avg");
  require_shape(exp_avg_sq, value.shape(), "adamw: exp_avg_sq");
  cuda::update("adamw", stream(), Step{arguments}, cuda::reads<float>(gradient), cuda::updates<float>(value),
               cuda::updates<float>(exp_avg), cuda::updates<float>(exp_avg_sq));
}

}  // namespace lockstep::device
