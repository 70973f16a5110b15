// Between f32 and the types of mixed precision, in the host's memory.
#pragma once

#include <cstddef>

#include "device/tensor.h"

namespace lockstep::device {

// `dtype` is f32, bf16 or f16, else Error(internal). To the nearest, ties to even. Memory is aligned to the
// elements.
void widen(DType dtype, const void* from, float* to, std::size_t count);
void narrow(DType dtype, const float* from, void* to, std::size_t count);

}  // namespace lockstep::device
