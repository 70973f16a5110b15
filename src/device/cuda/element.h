// The number types that tensors of real numbers have, in kernels: computed with as f32, kept as they are.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "core/error.h"
#include "device/cuda/launch.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

__host__ __device__ inline float widen(float value) {
  return value;
}
__host__ __device__ inline float widen(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__host__ __device__ inline float widen(__half value) {
  return __half2float(value);
}

// Rounds to the nearest, ties to even.
template <typename T>
__host__ __device__ T narrow(float value);
template <>
__host__ __device__ inline float narrow<float>(float value) {
  return value;
}
template <>
__host__ __device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}
template <>
__host__ __device__ inline __half narrow<__half>(float value) {
  return __float2half(value);
}

// Calls function(pointer) with the tensor's address as a pointer to its type. Other types than f32, bf16 and
// f16 are Error(internal).
template <typename Function>
void with_elements(const Tensor& tensor, Function function) {
  switch (tensor.dtype()) {
    case DType::f32:
      return function(static_cast<float*>(tensor.data()));
    case DType::bf16:
      return function(static_cast<__nv_bfloat16*>(tensor.data()));
    case DType::f16:
      return function(static_cast<__half*>(tensor.data()));
    default:
      throw Error(ExitCode::internal,
                  "a kernel for real numbers got " + std::string(name_of(tensor.dtype())));
  }
}

}  // namespace lockstep::device::cuda
