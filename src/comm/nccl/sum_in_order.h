// Sums of all ranks' values on the device, with one rounding.
#pragma once

#include <cuda_runtime_api.h>

#include "device/tensor.h"

namespace lockstep::comm::nccl {

// sum[i] = round(((terms[0][i] + terms[1][i]) + terms[2][i]) + ...), added in f32. `terms` is rows of
// sum.count() values of the same type: f32, bf16 or f16; at least one row, and apart from the sum.
void sum_in_order(const device::Tensor& terms, const device::Tensor& sum, cudaStream_t stream);

}  // namespace lockstep::comm::nccl
