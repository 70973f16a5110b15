// Which bf16 products to leave to oneDNN. Inside src/device/cpu only.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

namespace lockstep::device::cpu {

// The processor's instructions for them, in words; empty where it has none. Without, oneDNN does refuse some
// shapes, and is slower than f32 on others: 8 times on AVX-512, 400 times on AVX2 (cnn, 64 images of 28 x
// 28).
inline std::string_view bf16_instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "amx";
    default:
      return {};
  }
}

// What oneDNN calls "ref" are plain loops.
inline bool is_reference(const dnnl::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

}  // namespace lockstep::device::cpu
