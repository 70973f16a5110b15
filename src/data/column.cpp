#include "data/column.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "data/storage.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostChunkCache = 256 << 20;

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

ElementType integer_type(std::size_t size, bool is_signed) {
  const auto log2 = static_cast<int>(std::countr_zero(size));
  return static_cast<ElementType>(2 * log2 + (is_signed ? 1 : 0));
}

// What a type that holds no plain numbers is called by those who made the file.
std::string_view kind_name(H5T_class_t kind) {
  switch (kind) {
    case H5T_STRING:
      return "text (strings)";
    case H5T_COMPOUND:
      return "a compound type (records with fields)";
    case H5T_ENUM:
      return "an enumeration, as h5py stores booleans";
    case H5T_ARRAY:
      return "an array type";
    case H5T_VLEN:
      return "lists of varying length";
    case H5T_REFERENCE:
      return "references";
    case H5T_OPAQUE:
      return "opaque bytes";
    case H5T_BITFIELD:
      return "bit fields";
    default:
      return "a type of another size";
  }
}

ElementType element_type(hid_t type, const std::string& where, std::string_view wanted) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_INTEGER && (size == 1 || size == 2 || size == 4 || size == 8)) {
    return integer_type(size, H5Tget_sign(type) == H5T_SGN_2);
  }
  // Half precision widens to float32 without loss; no type of ours holds it.
  if (kind == H5T_FLOAT && size <= 4) return ElementType::f32;
  if (kind == H5T_FLOAT && size == 8) return ElementType::f64;
  bad(fmt::format("{} holds {}, wanted {}", where, kind_name(kind), wanted));
}

}  // namespace

Column describe_column(const hdf5::File& opened, const fs::path& file, const std::string& name,
                       std::string_view wanted) {
  const std::string where = place(file, name);
  Column column;
  column.name = name;
  const auto dataset = hdf5::own<hdf5::Dataset>(H5Dopen2(opened.get(), name.c_str(), H5P_DEFAULT),
                                                ExitCode::bad_data, "open " + where);
  const auto type =
      hdf5::own<hdf5::Datatype>(H5Dget_type(dataset.get()), ExitCode::bad_data, "read the type of " + where);
  column.type = element_type(type.get(), where, wanted);

  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::bad_data,
                                                "read the shape of " + where);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1) bad(fmt::format("{} is a single value; it needs one row a sample", where));
  std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  column.rows = static_cast<std::int64_t>(extent[0]);
  column.shape.assign(extent.begin() + 1, extent.end());
  for (const std::int64_t dim : column.shape) column.row_elements *= dim;
  if (column.row_elements == 0) {
    bad(fmt::format("{} has samples of shape {}, without any number", where, shape_text(column.shape)));
  }
  return column;
}

void locate_column(const hdf5::File& opened, const fs::path& file, Column& column) {
  const auto dataset = hdf5::own<hdf5::Dataset>(H5Dopen2(opened.get(), column.name.c_str(), H5P_DEFAULT),
                                                ExitCode::bad_data, "open " + place(file, column.name));
  read_storage(dataset.get(), opened, file, column);
}

// The cache must hold two chunks, or each partial read inflates its chunk again.
hdf5::Dataset open_column(const hdf5::File& opened, const fs::path& file, const Column& column) {
  const std::string what = fmt::format("open {}", place(file, column.name));
  auto access = hdf5::own<hdf5::PropertyList>(H5Pcreate(H5P_DATASET_ACCESS), ExitCode::internal, what);
  if (column.layout == Layout::chunked) {
    const auto chunk_bytes = static_cast<std::size_t>(column.chunk_rows * column.row_bytes());
    const std::size_t bytes = std::clamp<std::size_t>(3 * chunk_bytes, 1 << 20, kMostChunkCache);
    hdf5::check(H5Pset_chunk_cache(access.get(), H5D_CHUNK_CACHE_NSLOTS_DEFAULT, bytes, 1.0),
                ExitCode::internal, what);
  }
  return hdf5::own<hdf5::Dataset>(H5Dopen2(opened.get(), column.name.c_str(), access.get()),
                                  ExitCode::bad_data, what);
}

void read_rows(const hdf5::Dataset& dataset, const fs::path& file, const Column& column, std::int64_t row,
               std::int64_t rows, std::byte* out) {
  const auto guard = hdf5::lock();
  const std::string what = rows_text(file, column, row, rows);
  std::vector<hsize_t> start(column.shape.size() + 1, 0);
  std::vector<hsize_t> count(start.size());
  start[0] = static_cast<hsize_t>(row);
  count[0] = static_cast<hsize_t>(rows);
  std::copy(column.shape.begin(), column.shape.end(), count.begin() + 1);
  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::bad_data, what);
  hdf5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
              ExitCode::bad_data, what);
  const auto memory = hdf5::own<hdf5::Dataspace>(
      H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), ExitCode::internal, what);
  hdf5::check(H5Dread(dataset.get(), hdf5_type(column.type), memory.get(), space.get(), H5P_DEFAULT, out),
              ExitCode::bad_data, what);
}

std::string rows_text(const fs::path& file, const Column& column, std::int64_t row, std::int64_t rows) {
  return fmt::format("read rows {} to {} of {}", row, row + rows - 1, place(file, column.name));
}

}  // namespace lockstep::data
