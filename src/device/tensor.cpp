#include "device/tensor.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace lockstep::device {

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  throw Error(ExitCode::internal, fmt::format("dtype {} is unknown", static_cast<int>(dtype)));
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "f64";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "unknown";
}

Tensor::Tensor(std::shared_ptr<void> storage, std::size_t byte_offset, const Shape& shape, DType dtype)
    : storage_(std::move(storage)), byte_offset_(byte_offset), shape_(shape), dtype_(dtype) {}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.count() != count()) {
    throw Error(ExitCode::internal,
                fmt::format("a tensor {} cannot be seen as {}", shape_.text(), shape.text()));
  }
  return {storage_, byte_offset_, shape, dtype_};
}

Tensor Tensor::slice(std::int64_t first, const Shape& shape) const {
  if (first < 0 || first + shape.count() > count()) {
    throw Error(ExitCode::internal, fmt::format("a tensor {} has no part {} from element {} on",
                                                shape_.text(), shape.text(), first));
  }
  return {storage_, byte_offset_ + static_cast<std::size_t>(first) * size_of(dtype_), shape, dtype_};
}

void* Tensor::address(DType wanted) const {
  if (!storage_ || wanted != dtype_) {
    throw Error(ExitCode::internal,
                fmt::format("a tensor of {} was wanted, this one {}", name_of(wanted),
                            storage_ ? fmt::format("has {}", name_of(dtype_)) : "is empty"));
  }
  return static_cast<std::byte*>(storage_.get()) + byte_offset_;
}

void require_shape(const Tensor& tensor, const Shape& wanted, std::string_view what) {
  if (!tensor || tensor.shape() != wanted) {
    throw Error(ExitCode::internal, fmt::format("{}: the shape is {}, wanted {}", what,
                                                tensor ? tensor.shape().text() : "none", wanted.text()));
  }
}

void require_type(const Tensor& tensor, DType wanted, std::string_view what) {
  if (tensor.dtype() != wanted) {
    throw Error(ExitCode::internal,
                fmt::format("{}: {} is wanted, not {}", what, name_of(wanted), name_of(tensor.dtype())));
  }
}

}  // namespace lockstep::device
