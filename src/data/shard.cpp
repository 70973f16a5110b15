#include "data/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>

#include "hdf5/serial.h"

namespace lockstep::data {

namespace fs = std::filesystem;

namespace {

struct TypeInfo {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<TypeInfo, 10> kTypes = {{{"uint8", 1},
                                              {"int8", 1},
                                              {"uint16", 2},
                                              {"int16", 2},
                                              {"uint32", 4},
                                              {"int32", 4},
                                              {"uint64", 8},
                                              {"int64", 8},
                                              {"float32", 4},
                                              {"float64", 8}}};

constexpr double kFormat = 1;  // the value of lockstep_format that this program reads and writes

// Names a dataset in error texts: "dataset x of train/a.h5".
std::string place(const fs::path& file, std::string_view dataset) {
  return fmt::format("dataset {} of {}", dataset, file.string());
}

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

ElementType integer_type(std::size_t size, bool is_signed) {
  const auto log2 = static_cast<int>(std::countr_zero(size));
  return static_cast<ElementType>(2 * log2 + (is_signed ? 1 : 0));
}

ElementType element_type(hid_t type, const std::string& where, bool labels) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_INTEGER && (size == 1 || size == 2 || size == 4 || size == 8)) {
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    const ElementType found = integer_type(size, is_signed);
    if (!labels && size > 2) {
      bad(fmt::format("{} has type {}, whose values need not fit a float32; store uint8, int16 or float32",
                      where, name_of(found)));
    }
    return found;
  }
  if (labels)
    bad(fmt::format("{} must have whole numbers (uint8, int64, ...), one class number a row", where));
  // Half precision widens to float32 without loss; no type of ours holds it.
  if (kind == H5T_FLOAT && size <= 4) return ElementType::f32;
  if (kind == H5T_FLOAT && size == 8) return ElementType::f64;
  bad(fmt::format(
      "{} has a type that is neither a number of 1 or 2 bytes nor a float; store uint8 or float32", where));
}

std::string filter_name(H5Z_filter_t filter, const char* given) {
  switch (filter) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    default:
      return *given != '\0' ? fmt::format("{} ({})", given, filter) : fmt::format("number {}", filter);
  }
}

std::string readable_filters(hid_t creation, const fs::path& file, const std::string& where) {
  std::vector<std::string> names;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t values = 0;
    char given[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr,
                                               sizeof given, given, &config);
    names.push_back(filter_name(filter, given));
    const bool there = H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &config) >= 0;
    if (!there || (config & H5Z_FILTER_CONFIG_DECODE_ENABLED) == 0) {
      bad(
          fmt::format("{} is compressed with filter {}, which is not available here; rewrite it with "
                      "`h5repack -f NONE {} OUT.h5`, or store it with gzip or uncompressed",
                      where, names.back(), file.string()));
    }
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

void read_layout(hid_t dataset, const fs::path& file, const std::string& where, Column& column) {
  const auto creation = hdf5::own<hdf5::PropertyList>(H5Dget_create_plist(dataset), ExitCode::bad_data,
                                                      "read how " + where + " is laid out");
  switch (H5Pget_layout(creation.get())) {
    case H5D_CONTIGUOUS:
      column.layout = Layout::contiguous;
      break;
    case H5D_COMPACT:
      column.layout = Layout::compact;
      break;
    case H5D_CHUNKED: {
      column.layout = Layout::chunked;
      std::array<hsize_t, H5S_MAX_RANK> chunk{};
      hdf5::check(H5Pget_chunk(creation.get(), H5S_MAX_RANK, chunk.data()), ExitCode::bad_data,
                  "read the chunk size of " + where);
      column.chunk_rows = static_cast<std::int64_t>(chunk[0]);
      column.filters = readable_filters(creation.get(), file, where);
      break;
    }
    default:
      // A missing source of a virtual dataset reads as zeros without any error.
      bad(fmt::format(
          "{} is a virtual dataset, which would read as zeros where a source is missing; list the "
          "source files themselves as shards, or copy it with `h5repack -l CONTI {} OUT.h5`",
          where, file.string()));
  }
  const bool in_file = column.layout == Layout::contiguous && H5Pget_external_count(creation.get()) == 0;
  const auto type =
      hdf5::own<hdf5::Datatype>(H5Dget_type(dataset), ExitCode::bad_data, "read the type of " + where);
  if (in_file && H5Tequal(type.get(), hdf5_type(column.type)) > 0) {
    const haddr_t offset = H5Dget_offset(dataset);
    if (offset != HADDR_UNDEF) column.file_offset = static_cast<std::int64_t>(offset);
  }
}

Column read_column(const hdf5::File& opened, const fs::path& file, const std::string& name) {
  const std::string where = place(file, name);
  Column column;
  column.name = name;
  if (H5Lexists(opened.get(), name.c_str(), H5P_DEFAULT) <= 0) {
    bad(fmt::format("{} has no dataset {}; a shard needs x [rows, shape of a sample...] and y [rows]",
                    file.string(), name));
  }
  const auto dataset = hdf5::own<hdf5::Dataset>(H5Dopen2(opened.get(), name.c_str(), H5P_DEFAULT),
                                                ExitCode::bad_data, "open " + where);
  const auto type =
      hdf5::own<hdf5::Datatype>(H5Dget_type(dataset.get()), ExitCode::bad_data, "read the type of " + where);
  column.type = element_type(type.get(), where, name == "y");

  const auto space = hdf5::own<hdf5::Dataspace>(H5Dget_space(dataset.get()), ExitCode::bad_data,
                                                "read the shape of " + where);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1) bad(fmt::format("{} is a single value; it needs one row a sample", where));
  std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  column.rows = static_cast<std::int64_t>(extent[0]);
  column.shape.assign(extent.begin() + 1, extent.end());
  for (const std::int64_t dim : column.shape) column.row_elements *= dim;
  if (name == "y" && rank != 1) {
    bad(fmt::format("{} has shape [{}x{}], wanted [{}]: one class number a row", where, column.rows,
                    shape_text(column.shape), column.rows));
  }
  if (column.row_elements == 0) {
    bad(fmt::format("{} has samples of shape {}, without any number", where, shape_text(column.shape)));
  }
  read_layout(dataset.get(), file, where, column);
  return column;
}

Normalisation read_normalisation(const hdf5::File& opened, const fs::path& file) {
  Normalisation result;
  result.scale = hdf5::read_number(opened, file, "scale").value_or(result.scale);
  result.mean = hdf5::read_number(opened, file, "mean").value_or(result.mean);
  result.std = hdf5::read_number(opened, file, "std").value_or(result.std);
  if (!std::isfinite(result.scale) || !std::isfinite(result.mean) || !std::isfinite(result.std) ||
      result.std <= 0) {
    bad(fmt::format("{} has scale {}, mean {}, std {}; wanted finite numbers and std > 0", file.string(),
                    result.scale, result.mean, result.std));
  }
  return result;
}

std::optional<std::int64_t> read_classes(const hdf5::File& opened, const fs::path& file) {
  const auto value = hdf5::read_number(opened, file, "classes");
  if (!value) return std::nullopt;
  if (!(*value >= 1 && *value <= 2147483647.0) || *value != std::floor(*value)) {
    bad(fmt::format("attribute classes of {} is {}, wanted a whole number of at least 1", file.string(),
                    *value));
  }
  return static_cast<std::int64_t>(*value);
}

}  // namespace

std::string_view name_of(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::size_t size_of(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].size;
}

std::int64_t hdf5_type(ElementType type) {
  const auto guard = hdf5::lock();
  switch (type) {
    case ElementType::u8:
      return H5T_NATIVE_UINT8;
    case ElementType::i8:
      return H5T_NATIVE_INT8;
    case ElementType::u16:
      return H5T_NATIVE_UINT16;
    case ElementType::i16:
      return H5T_NATIVE_INT16;
    case ElementType::u32:
      return H5T_NATIVE_UINT32;
    case ElementType::i32:
      return H5T_NATIVE_INT32;
    case ElementType::u64:
      return H5T_NATIVE_UINT64;
    case ElementType::i64:
      return H5T_NATIVE_INT64;
    case ElementType::f32:
      return H5T_NATIVE_FLOAT;
    case ElementType::f64:
      return H5T_NATIVE_DOUBLE;
  }
  throw Error(ExitCode::internal, "unknown element type");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

Shard read_shard(const fs::path& file) {
  const auto guard = hdf5::lock();
  const hdf5::File opened = hdf5::open_serial(file);
  const auto format = hdf5::read_number(opened, file, "lockstep_format");
  if (format && *format != kFormat) {
    bad(fmt::format("{} has lockstep_format {}, this program reads {}; import it again with this version",
                    file.string(), *format, kFormat));
  }
  Shard shard;
  shard.file = file;
  shard.x = read_column(opened, file, "x");
  shard.y = read_column(opened, file, "y");
  if (shard.x.rows != shard.y.rows) {
    bad(fmt::format("{} has {} rows in x and {} in y; each sample needs one label", file.string(),
                    shard.x.rows, shard.y.rows));
  }
  shard.normalisation = read_normalisation(opened, file);
  shard.classes = read_classes(opened, file);
  return shard;
}

}  // namespace lockstep::data
