// Rows of numbers that are read once, from the first to the last: what an IDX or NPY file holds, or a dataset
// of an HDF5 file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/shard.h"

namespace lockstep::data {

class ArrayInput {
 public:
  virtual ~ArrayInput() = default;

  // As error texts call it: "x.npy", "dataset images of data.h5".
  virtual std::string place() const = 0;
  virtual ElementType type() const = 0;
  virtual std::int64_t rows() const = 0;
  virtual const std::vector<std::int64_t>& row_shape() const = 0;
  // Fills `out`, whole rows, with those that follow, in this machine's byte order. Throws Error(bad_data).
  virtual void read(std::span<std::byte> out) = 0;
  // Called once all rows are read; throws Error(bad_data) where anything follows them.
  virtual void finish() {}

  std::int64_t row_elements() const;
  std::int64_t row_bytes() const { return row_elements() * static_cast<std::int64_t>(size_of(type())); }
};

// Throws Error(bad_data), naming `place`, where a row of this shape is empty or larger than 2 GiB, or where
// there cannot be that many rows.
void check_extent(const std::string& place, ElementType type, std::int64_t rows,
                  std::span<const std::int64_t> row_shape);

}  // namespace lockstep::data
