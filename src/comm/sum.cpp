#include "comm/sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/error.h"
#include "device/cpu/vector.h"

namespace lockstep::comm {

namespace {

using device::DType;

LOCKSTEP_VECTOR_CLONES
void add_all(float* __restrict sum, const float* __restrict term, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
}

// A bfloat16 is the upper half of a float.
LOCKSTEP_INLINE float from_bf16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

LOCKSTEP_INLINE std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  // Rounding could carry a NaN into infinity; its uppermost fraction bit keeps it one.
  const std::uint32_t nan = bits | 0x400000U;
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>((is_nan ? nan : rounded) >> 16);
}

// Without branches and without subnormal floats, whose handling depends on the processor's mode.
LOCKSTEP_INLINE float from_f16(std::uint16_t value) {
  constexpr std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t magnitude = (value & 0x7fffU) << 13;
  const std::uint32_t exponent = magnitude & 0x0f800000U;
  const std::uint32_t normal = magnitude + rebias;
  const std::uint32_t special = normal + rebias;  // infinity and NaN
  // A subnormal one: its fraction as that of 2^-14, less 2^-14.
  const float small = std::bit_cast<float>(normal + (1U << 23)) - std::bit_cast<float>(rebias + (1U << 23));
  const std::uint32_t bits = exponent == 0x0f800000U ? special
                             : exponent == 0         ? std::bit_cast<std::uint32_t>(small)
                                                     : normal;
  return std::bit_cast<float>(bits | (static_cast<std::uint32_t>(value & 0x8000U) << 16));
}

LOCKSTEP_INLINE std::uint16_t to_f16(float value) {
  constexpr std::uint32_t rebias = (127U - 15U) << 23;
  // Of 0.5: a small value that is added to it is rounded by the processor to steps of 2^-24, those of f16.
  constexpr std::uint32_t half = 126U << 23;
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t bits = all & 0x7fffffffU;
  const std::uint32_t normal = (bits - rebias + 0xfffU + ((bits >> 13) & 1U)) >> 13;
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + std::bit_cast<float>(half)) - half;
  const std::uint32_t special = bits > 0x7f800000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t magnitude = bits >= (143U << 23)
                                      ? special  // 65536 and more; less rounds to it by carry
                                  : bits < (113U << 23) ? small
                                                        : normal;
  return static_cast<std::uint16_t>(magnitude | ((all >> 16) & 0x8000U));
}

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
void add_bf16(float* __restrict sum, const std::uint16_t* __restrict term, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += from_bf16(term[i]);
}

LOCKSTEP_VECTOR_CLONES
void add_f16(float* __restrict sum, const std::uint16_t* __restrict term, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += from_f16(term[i]);
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

const float* floats(const std::byte* bytes) {
  return reinterpret_cast<const float*>(bytes);
}

const std::uint16_t* halves(const std::byte* bytes) {
  return reinterpret_cast<const std::uint16_t*>(bytes);
}

void add_term(DType dtype, const std::byte* term, float* sum, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      return add_all(sum, floats(term), count);
    case DType::bf16:
      return add_bf16(sum, halves(term), count);
    case DType::f16:
      return add_f16(sum, halves(term), count);
    default:
      throw Error(ExitCode::internal, "sums are made of f32, bf16 and f16 alone");
  }
}

// One block of a sum stays in the first cache while all terms are added.
constexpr std::size_t block = 2048;

template <typename Finish>
void sum_blocks(DType dtype, std::span<const std::byte* const> terms, std::size_t count,
                const Finish& finish) {
  std::array<float, block> sum;
  const std::size_t element = size_of(dtype);
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t length = std::min(block, count - first);
    widen(dtype, terms[0] + first * element, sum.data(), length);
    for (const std::byte* term : terms.subspan(1))
      add_term(dtype, term + first * element, sum.data(), length);
    finish(sum.data(), first, length);
  }
}

}  // namespace

void add(float* sum, const float* term, std::size_t count) {
  add_all(sum, term, count);
}

void widen(DType dtype, const std::byte* from, float* to, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      std::copy_n(floats(from), count, to);
      return;
    case DType::bf16:
      return widen_bf16(halves(from), to, count);
    case DType::f16:
      return widen_f16(halves(from), to, count);
    default:
      throw Error(ExitCode::internal, "sums are made of f32, bf16 and f16 alone");
  }
}

void narrow(DType dtype, const float* from, std::byte* to, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      std::copy_n(from, count, reinterpret_cast<float*>(to));
      return;
    case DType::bf16:
      return narrow_bf16(from, reinterpret_cast<std::uint16_t*>(to), count);
    case DType::f16:
      return narrow_f16(from, reinterpret_cast<std::uint16_t*>(to), count);
    default:
      throw Error(ExitCode::internal, "sums are made of f32, bf16 and f16 alone");
  }
}

void sum_in_order(DType dtype, std::span<const std::byte* const> terms, std::byte* result,
                  std::size_t count) {
  sum_blocks(dtype, terms, count, [&](const float* sum, std::size_t first, std::size_t length) {
    narrow(dtype, sum, result + first * size_of(dtype), length);
  });
}

void sum_in_order_f32(DType dtype, std::span<const std::byte* const> terms, float* result,
                      std::size_t count) {
  sum_blocks(dtype, terms, count, [&](const float* sum, std::size_t first, std::size_t length) {
    std::copy_n(sum, length, result + first);
  });
}

}  // namespace lockstep::comm
