// Inside src/device/cpu only.
#pragma once

#include <cstdint>

namespace lockstep::device::cpu {

// pre += bias in every row, y = gelu(pre); [rows, columns].
void add_bias_gelu(const float* bias, std::int64_t rows, std::int64_t columns, float* pre, float* y);

}  // namespace lockstep::device::cpu
