// NVIDIA's libraries as one device uses them.
#pragma once

#include <utility>

#include "device/cuda/convolutions.h"
#include "device/cuda/matrix_products.h"

namespace lockstep::device::cuda {

struct Libraries {
  // What MatrixProducts and Convolutions are made of.
  Libraries(Tensor workspace, cudaStream_t stream) : products(std::move(workspace)), convolutions(stream) {}

  MatrixProducts products;
  Convolutions convolutions;
};

}  // namespace lockstep::device::cuda
