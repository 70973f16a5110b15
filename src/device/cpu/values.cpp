#include "device/cpu/values.h"

#include <fmt/format.h>

#include "core/error.h"
#include "device/half.h"

namespace lockstep::device::cpu {

Values::Values(const Tensor& tensor)
    : dtype_(tensor.dtype()), address_(static_cast<std::byte*>(tensor.data())) {
  if (dtype_ == DType::f32 || dtype_ == DType::bf16 || dtype_ == DType::f16) return;
  throw Error(ExitCode::internal,
              fmt::format("a tensor of f32, bf16 or f16 was wanted, this one has {}", name_of(dtype_)));
}

std::uint16_t* Values::bits(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() != dtype || size_of(dtype) != sizeof(std::uint16_t)) {
    throw Error(ExitCode::internal,
                fmt::format("a tensor of {} meets one of {}, wanted both f32, bf16 or f16", name_of(dtype),
                            name_of(tensor.dtype())));
  }
  return static_cast<std::uint16_t*>(tensor.data());
}

Values::Part Values::part(std::int64_t first, std::int64_t count, bool load, bool store) const {
  std::byte* address =
      address_ == nullptr ? nullptr : address_ + static_cast<std::size_t>(first) * size_of(dtype_);
  return {dtype_, address, count, load, store};
}

Values::Part::Part(DType dtype, std::byte* address, std::int64_t count, bool load, bool store)
    : dtype_(dtype), address_(nullptr), count_(count), data_(reinterpret_cast<float*>(address)) {
  if (dtype == DType::f32 || address == nullptr) return;
  const auto size = static_cast<std::size_t>(count);
  copy_ = std::make_unique_for_overwrite<float[]>(size);
  data_ = copy_.get();
  if (load) widen(dtype, address, data_, size);
  if (store) address_ = address;
}

Values::Part::~Part() {
  if (address_ != nullptr) narrow(dtype_, data_, address_, static_cast<std::size_t>(count_));
}

}  // namespace lockstep::device::cpu
