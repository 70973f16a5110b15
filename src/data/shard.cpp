#include "data/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "data/storage.h"
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

ElementType element_type(hid_t type, const std::string& where, bool is_y) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_INTEGER && (size == 1 || size == 2 || size == 4 || size == 8)) {
    const ElementType found = integer_type(size, H5Tget_sign(type) == H5T_SGN_2);
    if (!is_y && size > 2) {
      bad(fmt::format("{} has type {}, whose values need not fit a float32; store uint8, int16 or float32",
                      where, name_of(found)));
    }
    return found;
  }
  // Half precision widens to float32 without loss; no type of ours holds it.
  if (kind == H5T_FLOAT && size <= 4) return ElementType::f32;
  if (kind == H5T_FLOAT && size == 8) return ElementType::f64;
  bad(fmt::format("{} holds {}, wanted {}", where, kind_name(kind),
                  is_y ? "numbers: store class numbers as uint8 or int64, or numbers to predict as float32"
                       : "numbers of 1 or 2 bytes or floats: store uint8 or float32"));
}

// What a row of y may be: one class number, or one or more numbers to predict.
void check_y_shape(const Column& y, const fs::path& file) {
  const std::string where = place(file, y.name);
  if (!is_floating(y.type) && !y.shape.empty()) {
    bad(fmt::format(
        "{} has shape [{}x{}], wanted [{}]: one class number a row; numbers to predict are stored "
        "as float32",
        where, y.rows, shape_text(y.shape), y.rows));
  }
  if (y.shape.size() > 1) {
    bad(fmt::format("{} has shape [{}x{}], wanted [{}] or [{}, numbers to predict]", where, y.rows,
                    shape_text(y.shape), y.rows, y.rows));
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
  if (name == "y") check_y_shape(column, file);
  if (column.row_elements == 0) {
    bad(fmt::format("{} has samples of shape {}, without any number", where, shape_text(column.shape)));
  }
  read_storage(dataset.get(), file, column);
  return column;
}

// One value, or one for each index of a sample's first dimension where that is a channel or a feature.
void check_groups(const std::vector<double>& values, std::string_view name, const Column& x,
                  const fs::path& file) {
  if (values.size() == 1) return;
  const bool has_groups = x.shape.size() == 1 || x.shape.size() == 3;
  if (has_groups && static_cast<std::int64_t>(values.size()) == x.shape.front()) return;
  bad(fmt::format("attribute {} of {} has {} values, wanted {}: samples are {}", name, file.string(),
                  values.size(), has_groups ? fmt::format("1 or {}", x.shape.front()) : "1",
                  shape_text(x.shape)));
}

Normalisation read_normalisation(const hdf5::File& opened, const fs::path& file, const Column& x) {
  Normalisation result;
  result.scale = hdf5::read_number(opened, file, "scale").value_or(result.scale);
  result.mean = hdf5::read_numbers(opened, file, "mean").value_or(result.mean);
  result.std = hdf5::read_numbers(opened, file, "std").value_or(result.std);
  check_groups(result.mean, "mean", x, file);
  check_groups(result.std, "std", x, file);
  const auto finite = [](double value) { return std::isfinite(value); };
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!finite(result.scale) || !std::all_of(result.mean.begin(), result.mean.end(), finite) ||
      !std::all_of(result.std.begin(), result.std.end(), positive)) {
    bad(fmt::format("{} has {}; wanted finite numbers and std > 0", file.string(), text_of(result)));
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

bool is_floating(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f64;
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
    bad(fmt::format("{} has {} rows in x and {} in y; each sample needs one row in both", file.string(),
                    shard.x.rows, shard.y.rows));
  }
  shard.normalisation = read_normalisation(opened, file, shard.x);
  shard.classes = read_classes(opened, file);
  if (shard.classes && shard.target_width() > 0) {
    bad(fmt::format(
        "{} has {} classes, but its dataset y holds {}, numbers to predict; store class numbers as "
        "uint8 or int64, or remove attribute classes",
        file.string(), *shard.classes, name_of(shard.y.type)));
  }
  return shard;
}

}  // namespace lockstep::data
