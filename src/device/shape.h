// The sizes of a tensor, outermost first; held in place so that making one costs no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lockstep::device {

class Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  // At most max_rank sizes, none negative; anything else is Error(internal).
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }
  // The number of elements; 1 for the empty shape (a scalar).
  std::int64_t count() const;
  bool operator==(const Shape&) const = default;
  // "[64, 28, 28, 1]"
  std::string text() const;

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

}  // namespace lockstep::device
