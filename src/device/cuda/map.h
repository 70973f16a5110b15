// Kernels that treat every element alike. Only .cu files include this header.
//
// An operation is a small struct, copied to the device, whose call operator takes and gives f32:
//   map("relu", stream, Relu(), writes<T>(y), reads<T>(x))               y[i] = op(x[i]...), y may be an x
//   update("lerp", stream, Lerp{w}, reads<float>(x), updates<float>(y))  op(x[i], y[i]) changes what it
//   updates
// All tensors of a call have the same number of elements. The name is in errors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "device/cuda/packs.h"

namespace lockstep::device::cuda {

// ---- In kernels: n elements from each address on
template <int n, typename Op, typename Out, typename... In, std::size_t... which>
__device__ void map_pack(std::index_sequence<which...>, const Op& op, bool aligned, Out* y, const In*... x) {
  float values[sizeof...(In) + 1][n];  // one more: there may be no input
  (load(x, aligned, values[which]), ...);
  float result[n];
  for (int i = 0; i < n; ++i) result[i] = op(values[which][i]...);
  store(y, aligned, result);
}

template <int n, typename Op, typename Out, typename... In>
__global__ void map_elements(Op op, std::int64_t count, bool aligned, Out* y, const In*... x) {
  using Which = std::index_sequence_for<In...>;
  const std::int64_t packs = count / n;
  for (std::int64_t p = first_element(); p < packs; p += element_stride()) {
    map_pack<n>(Which(), op, aligned, y + p * n, x + p * n...);
  }
  for (std::int64_t i = packs * n + first_element(); i < count; i += element_stride()) {
    map_pack<1>(Which(), op, false, y + i, x + i...);
  }
}

template <int n>
__device__ void store_updated(const float*, bool, const float (&)[n]) {}
template <int n>
__device__ void store_updated(float* address, bool aligned, const float (&values)[n]) {
  store(address, aligned, values);
}

template <int n, typename Op, typename... T, std::size_t... which>
__device__ void update_pack(std::index_sequence<which...>, const Op& op, bool aligned, T*... x) {
  float values[sizeof...(T)][n];
  (load(x, aligned, values[which]), ...);
  for (int i = 0; i < n; ++i) op(values[which][i]...);
  (store_updated(x, aligned, values[which]), ...);
}

// T is float or, of what is only read, const float.
template <int n, typename Op, typename... T>
__global__ void update_elements(Op op, std::int64_t count, bool aligned, T*... x) {
  using Which = std::index_sequence_for<T...>;
  const std::int64_t packs = count / n;
  for (std::int64_t p = first_element(); p < packs; p += element_stride()) {
    update_pack<n>(Which(), op, aligned, x + p * n...);
  }
  for (std::int64_t i = packs * n + first_element(); i < count; i += element_stride()) {
    update_pack<1>(Which(), op, false, x + i...);
  }
}

// ---- On the host
template <int n, typename T>
bool is_aligned(const T* address) {
  return reinterpret_cast<std::uintptr_t>(address) % (n * sizeof(T)) == 0;
}

template <typename Op, typename Out, typename... In>
void map(const char* name, cudaStream_t stream, const Op& op, Writes<Out> y, Reads<In>... x) {
  constexpr int n = static_cast<int>(16 / std::max({sizeof(Out), sizeof(In)...}));
  const bool aligned = (is_aligned<n>(y.data) && ... && is_aligned<n>(x.data));
  const auto count = static_cast<std::int64_t>(y.count);
  const Grid grid = grid_over(y.count / n);
  void (*const kernel)(Op, std::int64_t, bool, Out*, const In*...) = map_elements<n, Op, Out, In...>;
  if ((false || ... || (static_cast<const void*>(x.data) == y.data))) {
    launch(name, kernel, grid, stream, op, count, aligned, Updates<Out>{y.data, y.count}, x...);
  } else {
    launch(name, kernel, grid, stream, op, count, aligned, y, x...);
  }
}

inline const float* address(const Reads<float>& x) {
  return x.data;
}
inline float* address(const Updates<float>& x) {
  return x.data;
}

template <typename Op, typename First, typename... Rest>
void update(const char* name, cudaStream_t stream, const Op& op, const First& first, const Rest&... rest) {
  constexpr int n = pack_size<float>;
  const bool aligned = (is_aligned<n>(first.data) && ... && is_aligned<n>(rest.data));
  launch(name,
         update_elements<n, Op, std::remove_pointer_t<decltype(address(first))>,
                         std::remove_pointer_t<decltype(address(rest))>...>,
         grid_over(first.count / n), stream, op, static_cast<std::int64_t>(first.count), aligned, first,
         rest...);
}

}  // namespace lockstep::device::cuda
