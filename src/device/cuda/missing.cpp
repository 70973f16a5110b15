// Stands in for operations that are not written yet, so that the others can be linked. Goes when it is empty.
#include "core/error.h"
#include "device/cuda/cuda_device.h"

#define LOCKSTEP_MISSING(name, ...)                                           \
  __attribute__((weak)) void CudaDevice::name(__VA_ARGS__) {                  \
    throw Error(ExitCode::internal, "the CUDA backend has no " #name " yet"); \
  }

namespace lockstep::device {

LOCKSTEP_MISSING(fill, float, const Tensor&)
LOCKSTEP_MISSING(copy, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(cast, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(scale, float, const Tensor&)
LOCKSTEP_MISSING(axpy, float, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(lerp, float, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(relu_forward, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(relu_backward, const Tensor&, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(sum_of_squares, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(max_pool_forward, const Tensor&, const PoolWindow&, Activation, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(max_pool_backward, const Tensor&, const Tensor&, const PoolWindow&, const Tensor&)
LOCKSTEP_MISSING(average_pool_forward, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(average_pool_backward, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(channel_moments, const Tensor&, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(batch_norm_forward, const Tensor&, const ChannelMoments&, const Tensor&, const Tensor&,
                 const Tensor&, Activation, const Tensor&)
LOCKSTEP_MISSING(batch_norm_backward, const Tensor&, const ChannelMoments&, const Tensor&, Activation,
                 const Tensor&, const Tensor&, bool, const Tensor&, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(subsample_forward, const Tensor&, std::int64_t, const Tensor&)
LOCKSTEP_MISSING(subsample_backward, const Tensor&, std::int64_t, const Tensor&)
LOCKSTEP_MISSING(nhwc_to_nchw, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(nchw_to_nhwc, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(dropout_forward, const Tensor&, const DropoutKey&, std::span<const std::int64_t>,
                 const Tensor&, const Tensor&)
LOCKSTEP_MISSING(dropout_backward, const Tensor&, const Tensor&, double, const Tensor&)
LOCKSTEP_MISSING(softmax_cross_entropy, const Tensor&, const Tensor&, double, float, const Tensor&,
                 const Tensor&)
LOCKSTEP_MISSING(mean_squared_error, const Tensor&, const Tensor&, float, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(sgd_step, const SgdArguments&, const Tensor&, const Tensor&, const Tensor&)
LOCKSTEP_MISSING(adamw_step, const AdamwArguments&, const Tensor&, const Tensor&, const Tensor&,
                 const Tensor&)

}  // namespace lockstep::device
