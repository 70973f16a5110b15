// The two 16-bit types that networks are computed in, and f32: to the nearest, ties to even; a NaN stays one.
// The same bits on every processor and in every copy of a loop.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/vector.h"

namespace lockstep {

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

// IEEE's binary16. Without branches and without subnormal floats, whose handling depends on the processor's
// mode.
LOCKSTEP_INLINE float from_f16(std::uint16_t value) {
  constexpr std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t magnitude = (value & 0x7fffU) << 13;
  const std::uint32_t normal = magnitude + rebias;
  const std::uint32_t special = normal + rebias;  // infinity and NaN
  // A subnormal one: its fraction as that of 2^-14, less 2^-14.
  const float small = std::bit_cast<float>(normal + (1U << 23)) - std::bit_cast<float>(rebias + (1U << 23));
  // Not `exponent == 31`, `== 0`: Clang makes a switch of such, and no vector code of the loop.
  const std::uint32_t bits = magnitude >= (31U << 23) ? special
                             : magnitude < (1U << 23) ? std::bit_cast<std::uint32_t>(small)
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

// Of `count` values; the two ranges do not overlap.
void widen_bf16(const std::uint16_t* from, float* to, std::size_t count);
void widen_f16(const std::uint16_t* from, float* to, std::size_t count);
void narrow_bf16(const float* from, std::uint16_t* to, std::size_t count);
void narrow_f16(const float* from, std::uint16_t* to, std::size_t count);

}  // namespace lockstep
