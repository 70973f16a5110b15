#include "data/hdf5_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "data/column.h"
#include "data/storage.h"
#include "hdf5/serial.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

// The names in the root group, a few of them.
std::vector<std::string> names_in(const hdf5::File& file) {
  constexpr hsize_t most = 20;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < most; ++i) {
    std::array<char, 256> name{};
    const ssize_t length = H5Lget_name_by_idx(file.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name.data(),
                                              name.size(), H5P_DEFAULT);
    if (length < 0) break;
    names.emplace_back(name.data());
  }
  return names;
}

// HDF5 answers a question about "a/b" only where "a" is there.
bool is_dataset(const hdf5::File& file, const std::string& name) {
  std::string path;
  for (const std::string& part : split(name, '/')) {
    if (part.empty()) continue;
    path += "/" + part;
    if (H5Lexists(file.get(), path.c_str(), H5P_DEFAULT) <= 0) return false;
    if (H5Oexists_by_name(file.get(), path.c_str(), H5P_DEFAULT) <= 0) return false;  // a dangling link
  }
  if (path.empty()) return false;
  H5O_info_t about;
  return H5Oget_info_by_name2(file.get(), path.c_str(), &about, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
         about.type == H5O_TYPE_DATASET;
}

[[noreturn]] void refuse_name(const hdf5::File& file, const fs::path& path, const std::string& name) {
  const std::vector<std::string> names = names_in(file);
  const auto near = nearest(name, names);
  throw Error(ExitCode::bad_data,
              fmt::format("{} has no dataset {}{}; in its root are: {}", path.string(), name,
                          near ? fmt::format(", did you mean {}?", *near) : "",
                          names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

Hdf5Array::Hdf5Array(fs::path file, const std::string& dataset) : path_(std::move(file)) {
  const auto guard = hdf5::lock();
  const hdf5::File opened = hdf5::open_serial(path_);
  if (!is_dataset(opened, dataset)) refuse_name(opened, path_, dataset);
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
