// What linear layers and convolutions do with a bias beside the product itself. Rows are those of the last
// axis: [..., columns].
#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

// y += bias, f32 [columns] or empty; then the ReLU, if asked for.
void add_bias(cudaStream_t stream, const Tensor& bias, bool relu, const Tensor& y);

// The rows of dy are added up in parts of rows that depend on the shape alone, the parts in their order.
// Shape of the f32 tensor that sum_rows puts the parts into.
Shape row_sums_shape(const Tensor& dy);
// sums (f32 [columns]) = or += the sum of dy's rows, in f32.
void sum_rows(cudaStream_t stream, const Tensor& dy, const Tensor& parts, bool accumulate,
              const Tensor& sums);

}  // namespace lockstep::device::cuda
