// Tensors of f32, bf16 or f16 for loops that compute in f32: each part of a loop gets its elements as f32,
// f32 tensors themselves, others as a copy that stays in the cache and is rounded back at the end. Inside
// src/device/cpu only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/tensor.h"

namespace lockstep::device::cpu {

class Values {
 public:
  // Elements in a row, as long as this object lives.
  class Part {
   public:
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    // Null for a tensor that holds nothing.
    float* data() const { return data_; }

   private:
    friend class Values;
    Part(DType dtype, std::byte* address, std::int64_t count, bool load, bool store);

    DType dtype_;
    std::byte* address_;  // null where nothing is stored at the end
    std::int64_t count_;
    std::unique_ptr<float[]> copy_;
    float* data_;
  };

  // Error(internal) where it holds nothing or has another type. Keeps the address, not the tensor.
  explicit Values(const Tensor& tensor);
  // The tensor may hold nothing.
  static Values optional(const Tensor& tensor) { return tensor ? Values(tensor) : Values(); }
  explicit operator bool() const { return address_ != nullptr; }

  // The memory of a tensor of 16-bit numbers, all of type `dtype`, else Error(internal).
  static std::uint16_t* bits(const Tensor& tensor, DType dtype);

  // Elements first .. first + count - 1: to be read alone, to be written in full, or both. These throw
  // nothing.
  Part read(std::int64_t first, std::int64_t count) const { return part(first, count, true, false); }
  Part write(std::int64_t first, std::int64_t count) const { return part(first, count, false, true); }
  Part update(std::int64_t first, std::int64_t count) const { return part(first, count, true, true); }

 private:
  Values() = default;
  Part part(std::int64_t first, std::int64_t count, bool load, bool store) const;

  DType dtype_ = DType::f32;
  std::byte* address_ = nullptr;
};

// For loops that only move numbers: calls body(x's elements, y's elements) with pointers to float, or to
// std::uint16_t where the tensors hold bf16 or f16. Error(internal) where they have different types.
template <class Body>
void with_elements(const Tensor& x, const Tensor& y, const Body& body) {
  if (x.dtype() == DType::f32) {
    body(static_cast<const float*>(x.data()), y.f32());
  } else {
    body(Values::bits(x, x.dtype()), Values::bits(y, x.dtype()));
  }
}

}  // namespace lockstep::device::cpu
