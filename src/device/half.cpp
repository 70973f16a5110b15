#include "device/half.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/error.h"
#include "core/half.h"

namespace lockstep::device {

namespace {

[[noreturn]] void refuse(DType dtype) {
  throw Error(ExitCode::internal, fmt::format("f32, bf16 or f16 was wanted, not {}", name_of(dtype)));
}

}  // namespace

void widen(DType dtype, const void* from, float* to, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      std::copy_n(static_cast<const float*>(from), count, to);
      return;
    case DType::bf16:
      return widen_bf16(static_cast<const std::uint16_t*>(from), to, count);
    case DType::f16:
      return widen_f16(static_cast<const std::uint16_t*>(from), to, count);
    default:
      refuse(dtype);
  }
}

void narrow(DType dtype, const float* from, void* to, std::size_t count) {
  switch (dtype) {
    case DType::f32:
      std::copy_n(from, count, static_cast<float*>(to));
      return;
    case DType::bf16:
      return narrow_bf16(from, static_cast<std::uint16_t*>(to), count);
    case DType::f16:
      return narrow_f16(from, static_cast<std::uint16_t*>(to), count);
    default:
      refuse(dtype);
  }
}

}  // namespace lockstep::device
