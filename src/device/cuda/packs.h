// Neighbouring channels that one thread handles together: as many as 16 bytes hold where the number of
// channels is a multiple of that, else one. The choice depends on shape and type alone, and so do sums that
// are made with it; a tensor that begins at an odd address is loaded number by number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "device/cuda/numbers.h"

// Before a loop: that many turns' loads are under way at once, where the compiler can see that.
#ifdef __CUDACC__
#define LOCKSTEP_UNROLL_TEXT(text) _Pragma(#text)
#define LOCKSTEP_UNROLL(turns) LOCKSTEP_UNROLL_TEXT(unroll turns)
#else
#define LOCKSTEP_UNROLL(turns)
#endif

namespace lockstep::device::cuda {

template <typename T, int n>
__device__ void load(const T* address, bool aligned, float (&values)[n]) {
  if (n > 1 && aligned) {
    const Pack<T, n> pack = *reinterpret_cast<const Pack<T, n>*>(address);
    for (int i = 0; i < n; ++i) values[i] = to_float(pack.values[i]);
  } else {
    for (int i = 0; i < n; ++i) values[i] = to_float(address[i]);
  }
}

template <typename T, int n>
__device__ void store(T* address, bool aligned, const float (&values)[n]) {
  if (n > 1 && aligned) {
    Pack<T, n> pack;
    for (int i = 0; i < n; ++i) pack.values[i] = from_float<T>(values[i]);
    *reinterpret_cast<Pack<T, n>*>(address) = pack;
  } else {
    for (int i = 0; i < n; ++i) address[i] = from_float<T>(values[i]);
  }
}

// Whether packs of n numbers may be loaded from all of these tensors; empty ones are not asked.
inline bool are_aligned(int n, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    if (!*tensor) continue;
    const std::size_t bytes = static_cast<std::size_t>(n) * size_of(tensor->dtype());
    if (reinterpret_cast<std::uintptr_t>(tensor->data()) % bytes != 0) return false;
  }
  return true;
}

// Calls body(T(), n) for a tensor [..., channels] of floating-point values; n is a std::integral_constant.
template <typename Body>
void for_packs(const Tensor& tensor, std::int64_t channels, const Body& body) {
  for_values(tensor, [&](auto type) {
    constexpr int n = pack_size<decltype(type)>;
    if (channels % n == 0) {
      body(type, std::integral_constant<int, n>());
    } else {
      body(type, std::integral_constant<int, 1>());
    }
  });
}

// Numbers of elements or packs that kernels divide by extents: in 32 bits that is several times faster.
// Error(internal) for what does not fit, with room for a stride behind it.
inline std::uint32_t narrow_count(std::int64_t count) {
  if (count < 0 || count >= std::int64_t{1} << 31) {
    throw Error(ExitCode::internal,
                "an image tensor of " + std::to_string(count) + " elements is too large for one micro-batch");
  }
  return static_cast<std::uint32_t>(count);
}

}  // namespace lockstep::device::cuda
