// Whether oneDNN has a kernel of its own for something in bf16. Inside src/device/cpu only.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

namespace lockstep::device::cpu {

// What oneDNN calls "ref" are plain loops, slower than the same in f32.
inline bool is_reference(const dnnl::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

}  // namespace lockstep::device::cpu
