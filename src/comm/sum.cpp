#include "comm/sum.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/error.h"
#include "core/half.h"
#include "core/vector.h"
#include "device/half.h"

namespace lockstep::comm {

namespace {

using device::DType;

LOCKSTEP_VECTOR_CLONES
void add_all(float* __restrict sum, const float* __restrict term, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
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
