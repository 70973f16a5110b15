// Parameters of a convolution are [out, in, kh, kw], as PyTorch's; cuDNN wants them as [out, kh, kw, in].
#pragma once

#include <cuda_runtime_api.h>

#include "device/tensor.h"

namespace lockstep::device::cuda {

// weight [out, in, kh, kw] -> filter of as many elements, both of one type.
void weight_to_filter(cudaStream_t stream, const Tensor& weight, const Tensor& filter);
// dweight [out, in, kh, kw] in f32 = or += filter, of any of the three types.
void filter_to_weight(cudaStream_t stream, const Tensor& filter, bool accumulate, const Tensor& dweight);

}  // namespace lockstep::device::cuda
