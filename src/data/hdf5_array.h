// A dataset of an HDF5 file that somebody else has made.
#pragma once

#include <filesystem>

#include "data/array_input.h"
#include "hdf5/handle.h"

namespace lockstep::data {

// A dataset of numbers; its first dimension are the rows. The file is open only while rows are read, so that
// thousands of files can be imported in one go.
class Hdf5Array : public ArrayInput {
 public:
  // `dataset` is a path in the file, "images" or "group/images". Throws Error(missing_input) where there is
  // no such file, Error(bad_data), naming file and dataset, what was seen and wanted, where it has no such
  // dataset or one that cannot be read here.
  Hdf5Array(std::filesystem::path file, const std::string& dataset);

  std::string place() const override;
  ElementType type() const override { return column_.type; }
  std::int64_t rows() const override { return column_.rows; }
  const std::vector<std::int64_t>& row_shape() const override { return column_.shape; }
  void read(std::span<std::byte> out) override;
  void finish() override;

 private:
  std::filesystem::path path_;
  Column column_;
  std::int64_t next_row_ = 0;
  hdf5::File file_;
  hdf5::Dataset dataset_;
};

}  // namespace lockstep::data
