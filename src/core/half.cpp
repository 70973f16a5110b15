#include "core/half.h"

namespace lockstep {

LOCKSTEP_VECTOR_CLONES
void widen_bf16(const std::uint16_t* __restrict from, float* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = from_bf16(from[i]);
}

LOCKSTEP_VECTOR_CLONES
void widen_f16(const std::uint16_t* __restrict from, float* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = from_f16(from[i]);
}

LOCKSTEP_VECTOR_CLONES
void narrow_bf16(const float* __restrict from, std::uint16_t* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = to_bf16(from[i]);
}

LOCKSTEP_VECTOR_CLONES
void narrow_f16(const float* __restrict from, std::uint16_t* __restrict to, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = to_f16(from[i]);
}

}  // namespace lockstep
