// The types that values have on the device: how kernels load, compute with and store them, and how a call for
// a tensor's type finds its kernel. Only .cu files include this header.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/error.h"
#include "device/cuda/launch.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

// ---- In kernels: values are loaded as f32, computed with in f32, rounded once (to nearest even) ----
__host__ __device__ inline float to_float(float value) {
  return value;
}
__host__ __device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__host__ __device__ inline float to_float(__half value) {
  return __half2float(value);
}
__host__ __device__ inline float to_float(std::uint8_t value) {
  return value;
}

template <typename T>
__host__ __device__ inline T from_float(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return __float2half_rn(value);
  }
}

// Neighbours that one instruction loads or stores: 16 bytes of most types.
template <typename T, int n>
struct alignas(sizeof(T) * n) Pack {
  T values[n];
};
template <typename T>
inline constexpr int pack_size = static_cast<int>(16 / sizeof(T));

// Where a thread of grid_over() starts, and how far it goes from element to element.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

// ---- Of tensors: addresses that are announced to the launch, Error(internal) for another type ----
template <typename T>
inline constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<__nv_bfloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<__half> = DType::f16;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::u8;

template <typename T>
T* address_of(const Tensor& tensor) {
  if (tensor && tensor.dtype() != dtype_of<T>) {
    throw Error(ExitCode::internal, "a tensor's type is " + std::string(name_of(tensor.dtype())) +
                                        ", wanted " + std::string(name_of(dtype_of<T>)));
  }
  return tensor ? static_cast<T*>(tensor.data()) : nullptr;
}
// All of a tensor's elements; of an empty tensor none, at null.
template <typename T>
Reads<T> reads(const Tensor& tensor) {
  return {address_of<T>(tensor), tensor ? static_cast<std::size_t>(tensor.count()) : 0};
}
template <typename T>
Writes<T> writes(const Tensor& tensor) {
  return {address_of<T>(tensor), tensor ? static_cast<std::size_t>(tensor.count()) : 0};
}
template <typename T>
Updates<T> updates(const Tensor& tensor) {
  return {address_of<T>(tensor), tensor ? static_cast<std::size_t>(tensor.count()) : 0};
}

// Calls body(T()) for a tensor of floating-point values: T is float, __nv_bfloat16 or __half.
template <typename Body>
void for_values(const Tensor& tensor, const Body& body) {
  switch (tensor.dtype()) {
    case DType::f32:
      return body(float());
    case DType::bf16:
      return body(__nv_bfloat16());
    case DType::f16:
      return body(__half());
    default:
      throw Error(ExitCode::internal,
                  "a tensor's type is " + std::string(name_of(tensor.dtype())) + ", wanted f32, bf16 or f16");
  }
}

}  // namespace lockstep::device::cuda
