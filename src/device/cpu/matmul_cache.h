// Products of bf16 matrices by oneDNN, made once per shape. Inside src/device/cpu only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

#include "device/tensor.h"

namespace lockstep::device::cpu {

// c [m, n] = a [m, k] b [k, n], summed in f32.
struct MatmulShape {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;  // it lies in memory as [k, m], [n, k]
  bool bias, relu;                  // c's columns get an f32 bias
  bool accumulate;                  // adds to c
  DType c;                          // bf16 or f32
  auto operator<=>(const MatmulShape&) const = default;
};

// Arguments are bound per call by address.
struct Matmul {
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c;  // bias may be empty
  std::unordered_map<int, dnnl::memory> arguments;
};

class MatmulCache {
 public:
  MatmulCache() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  // nullptr where oneDNN has nothing for it on this processor that is faster than f32.
  Matmul* find(const MatmulShape& shape);
  dnnl::stream& stream() { return stream_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<MatmulShape, std::optional<Matmul>> known_;
};

}  // namespace lockstep::device::cpu
