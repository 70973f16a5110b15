// From the rows of somebody's array to samples as shards hold them: shape, order of the dimensions, type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/shard.h"

namespace lockstep::data {

// How a row is to be understood.
enum class RowLayout {
  as_is,  // the shape stays
  chw,    // channel, height, width: what shards hold
  hwc,    // height, width, channel: is transposed
  hw,     // grey images: get one channel in front
};

class SampleForm {
 public:
  // `shape` replaces that of the rows first, where it is not empty. Throws Error(bad_data), naming `place`,
  // where it does not hold as many numbers, or where the layout needs another number of dimensions.
  SampleForm(std::string place, ElementType type, std::vector<std::int64_t> row_shape,
             const std::vector<std::int64_t>& shape, RowLayout layout);

  const std::vector<std::int64_t>& shape() const { return shape_; }  // of a sample
  ElementType type() const { return type_; }                         // of its numbers

  // Whole rows as samples; what is returned lasts until the next call. Integers of 32 and 64 bits become
  // float32: throws Error(bad_data), naming row and value, where a float32 cannot hold one.
  std::span<const std::byte> apply(std::span<const std::byte> rows, std::int64_t first_row);

 private:
  template <typename T>
  void narrow(std::span<const std::byte> rows, std::int64_t first_row);
  void transpose(std::span<const std::byte> rows);

  std::string place_;
  ElementType stored_;
  ElementType type_;
  std::vector<std::int64_t> shape_;
  std::int64_t elements_ = 1;
  bool channels_last_ = false;
  std::vector<float> narrowed_;
  std::vector<std::byte> transposed_;
};

// "1x28x28" -> {1, 28, 28}; "" -> {}. Throws Error(usage).
std::vector<std::int64_t> parse_shape(const std::string& text);

}  // namespace lockstep::data
