// Numbers and products as the stand-ins for cuBLASLt and cuDNN compute them: f32 and 16-bit types in memory,
// f32 within, every sum in one fixed order and in one thread.
#pragma once

#include <cstddef>
#include <vector>

namespace fake_gpu {

enum class Number { f32, bf16, f16 };

std::size_t bytes_of(Number type);
const char* name_of(Number type);

// Element `index` of an array.
float load(const void* array, Number type, std::size_t index);
void store(float value, void* array, Number type, std::size_t index);
std::vector<float> load_all(const void* array, Number type, std::size_t count);

// c [m, n] += a [m, k] b [k, n], all dense and row by row.
void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, const float* b, float* c);
// The transposed of a [rows, columns].
std::vector<float> transposed(const std::vector<float>& a, std::size_t rows, std::size_t columns);

}  // namespace fake_gpu
