// NPY files, NumPy's own format of one array: versions 1.0 to 3.0.
#pragma once

#include <memory>

#include "data/array_input.h"
#include "data/byte_input.h"

namespace lockstep::data {

// An array of numbers in C order, of either byte order; its first dimension are the rows.
class NpyFile : public ArrayInput {
 public:
  // Reads the header. Throws Error(bad_data) naming the file, what was seen, what is wanted and the remedy.
  explicit NpyFile(std::unique_ptr<ByteInput> input);

  std::string place() const override { return input_->name(); }
  ElementType type() const override { return type_; }
  std::int64_t rows() const override { return rows_; }
  const std::vector<std::int64_t>& row_shape() const override { return row_shape_; }
  void read(std::span<std::byte> out) override;
  void finish() override;

 private:
  std::unique_ptr<ByteInput> input_;
  ElementType type_ = ElementType::u8;
  bool swapped_ = false;  // the other byte order than this machine's
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> row_shape_;
};

}  // namespace lockstep::data
