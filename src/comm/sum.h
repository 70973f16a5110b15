// Sums of f32, bf16 and f16 values in the host's memory, by vector instructions that are chosen at the
// program's start. 16-bit values are added in f32. Memory is aligned to the elements.
#pragma once

#include <cstddef>
#include <span>

#include "device/tensor.h"

namespace lockstep::comm {

// sum[i] += term[i]
void add(float* sum, const float* term, std::size_t count);

// result[i] = round(((term[0][i] + term[1][i]) + term[2][i]) + ...): one rounding to 16 bits, at the end. The
// result may be one of the terms.
void sum_in_order(device::DType dtype, std::span<const std::byte* const> terms, std::byte* result,
                  std::size_t count);

// The same with the result in f32.
void sum_in_order_f32(device::DType dtype, std::span<const std::byte* const> terms, float* result,
                      std::size_t count);

}  // namespace lockstep::comm
