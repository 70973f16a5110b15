#include "data/hdf5_array.h"

#include "data/column.h"
#include "data/find_dataset.h"
#include "data/storage.h"
#include "hdf5/serial.h"

namespace lockstep::data {

namespace fs = std::filesystem;

Hdf5Array::Hdf5Array(fs::path file, const std::string& dataset) : path_(std::move(file)) {
  const auto guard = hdf5::lock();
  const hdf5::File opened = hdf5::open_serial(path_);
  require_dataset(opened, path_, dataset);
  column_ = describe_column(opened, path_, dataset, "plain numbers: store float32, uint8 or int64");
  locate_column(opened, path_, column_);
  check_extent(place(), column_.type, column_.rows, column_.shape);
}

std::string Hdf5Array::place() const {
  return data::place(path_, column_.name);
}

void Hdf5Array::read(std::span<std::byte> out) {
  const auto guard = hdf5::lock();
  if (file_.get() < 0) {
    file_ = hdf5::open_serial(path_);
    dataset_ = open_column(file_, path_, column_);
  }
  const std::int64_t rows = static_cast<std::int64_t>(out.size()) / column_.row_bytes();
  read_rows(dataset_, path_, column_, next_row_, rows, out.data());
  next_row_ += rows;
}

void Hdf5Array::finish() {
  dataset_ = {};
  file_ = {};
}

}  // namespace lockstep::data
