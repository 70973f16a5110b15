#include "numbers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/vector.h"

namespace fake_gpu {

std::size_t bytes_of(Number type) {
  return type == Number::f32 ? 4 : 2;
}

const char* name_of(Number type) {
  return type == Number::f32 ? "f32" : type == Number::bf16 ? "bf16" : "f16";
}

float load(const void* array, Number type, std::size_t index) {
  switch (type) {
    case Number::f32:
      return static_cast<const float*>(array)[index];
    case Number::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(array)[index]);
    case Number::f16:
      return __half2float(static_cast<const __half*>(array)[index]);
  }
  return 0.f;
}

void store(float value, void* array, Number type, std::size_t index) {
  switch (type) {
    case Number::f32:
      static_cast<float*>(array)[index] = value;
      break;
    case Number::bf16:
      static_cast<__nv_bfloat16*>(array)[index] = __float2bfloat16(value);
      break;
    case Number::f16:
      static_cast<__half*>(array)[index] = __float2half(value);
      break;
  }
}

std::vector<float> load_all(const void* array, Number type, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = load(array, type, i);
  return values;
}

LOCKSTEP_VECTOR_CLONES
void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c) {
  for (std::size_t row = 0; row < m; ++row) {
    float* out = c + row * n;
    for (std::size_t i = 0; i < k; ++i) {
      const float factor = a[row * k + i];
      const float* in = b + i * n;
#pragma omp simd
      for (std::size_t column = 0; column < n; ++column) out[column] += factor * in[column];
    }
  }
}

std::vector<float> transposed(const std::vector<float>& a, std::size_t rows, std::size_t columns) {
  std::vector<float> result(a.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      result[column * rows + row] = a[row * columns + column];
    }
  }
  return result;
}

}  // namespace fake_gpu
