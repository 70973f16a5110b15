// IDX files, the format of the MNIST family: a magic number that says type and rank, the extents, the bytes.
#pragma once

#include <memory>

#include "data/array_input.h"
#include "data/byte_input.h"

namespace lockstep::data {

// An IDX file of unsigned bytes.
class IdxFile : public ArrayInput {
 public:
  // Reads the header. Throws Error(bad_data) naming the file, what was seen and wanted.
  explicit IdxFile(std::unique_ptr<ByteInput> input);

  std::string place() const override { return input_->name(); }
  ElementType type() const override { return ElementType::u8; }
  std::int64_t rows() const override { return rows_; }
  const std::vector<std::int64_t>& row_shape() const override { return row_shape_; }
  void read(std::span<std::byte> out) override;
  void finish() override;

 private:
  std::unique_ptr<ByteInput> input_;
  std::int64_t rows_ = 0;
  std::vector<std::int64_t> row_shape_;
};

}  // namespace lockstep::data
