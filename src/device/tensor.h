// A dense array on a device: a handle on shared storage. Copying a Tensor copies the handle, never the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "device/shape.h"

namespace lockstep::device {

enum class DType : std::uint8_t { f32, bf16, f16, f64, i64, u8 };

std::size_t size_of(DType dtype);
std::string_view name_of(DType dtype);

class Tensor {
 public:
  Tensor() = default;  // holds nothing; false
  Tensor(std::shared_ptr<void> storage, std::size_t byte_offset, const Shape& shape, DType dtype);

  explicit operator bool() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::int64_t count() const { return shape_.count(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }

  // The same storage under another shape with the same number of elements.
  Tensor reshaped(const Shape& shape) const;
  // A contiguous part of the same storage: shape.count() elements from element `first` on.
  Tensor slice(std::int64_t first, const Shape& shape) const;

  // The address in the device's memory. Only src/device may follow it: it need not be the host's memory.
  // A type other than the tensor's is Error(internal).
  float* f32() const { return static_cast<float*>(address(DType::f32)); }
  double* f64() const { return static_cast<double*>(address(DType::f64)); }
  std::int64_t* i64() const { return static_cast<std::int64_t*>(address(DType::i64)); }
  std::uint8_t* u8() const { return static_cast<std::uint8_t*>(address(DType::u8)); }
  void* data() const { return address(dtype_); }

 private:
  void* address(DType wanted) const;

  std::shared_ptr<void> storage_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
};

// Error(internal) that names `what` unless the tensor has this shape: a fault in the caller's code.
void require_shape(const Tensor& tensor, const Shape& wanted, std::string_view what);
// The same for its type.
void require_type(const Tensor& tensor, DType wanted, std::string_view what);

}  // namespace lockstep::device
