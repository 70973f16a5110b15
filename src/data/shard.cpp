#include "data/shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/column.h"
#include "data/find_dataset.h"
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

constexpr std::int64_t kMostClasses = 2147483647;
constexpr double kFormat = 1;  // the value of lockstep_format that this program reads and writes

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
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

Column read_shard_column(const hdf5::File& opened, const fs::path& file, const std::string& name) {
  require_dataset(opened, file, name, "a shard needs x [rows, shape of a sample...] and y [rows]");
  const bool is_y = name == "y";
  Column column = describe_column(
      opened, file, name,
      is_y ? "numbers: store class numbers as uint8 or int64, or numbers to predict as float32"
           : "numbers of 1 or 2 bytes or floats: store uint8 or float32");
  if (is_y) {
    check_y_shape(column, file);
  } else if (!is_floating(column.type) && size_of(column.type) > 2) {
    bad(fmt::format("{} has type {}, whose values need not fit a float32; store uint8, int16 or float32",
                    place(file, name), name_of(column.type)));
  }
  locate_column(opened, file, column);
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
  if (!(*value >= 1 && *value <= static_cast<double>(kMostClasses)) || *value != std::floor(*value)) {
    bad(fmt::format("attribute classes of {} is {}, wanted a whole number of at least 1", file.string(),
                    *value));
  }
  return static_cast<std::int64_t>(*value);
}

// What is named of what there is, no more: a dataset of such a name may be for something else where it cannot
// be for this.
Names read_names(const hdf5::File& opened, const fs::path& file, const Shard& shard) {
  Names names;
  names.features = read_texts(opened, file, feature_names, shard.x.row_elements);
  if (shard.target_width() > 0) {
    names.targets = read_texts(opened, file, target_names, shard.target_width());
  } else {
    names.classes = read_texts(opened, file, class_names, shard.classes.value_or(kMostClasses));
  }
  const auto count = static_cast<std::int64_t>(names.features.size());
  if (count > 0 && count < shard.x.row_elements) {
    bad(fmt::format("{} has {} names, but a sample has {} numbers: name all of them, or remove that dataset",
                    place(file, feature_names), count, shard.x.row_elements));
  }
  return names;
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
  shard.x = read_shard_column(opened, file, "x");
  shard.y = read_shard_column(opened, file, "y");
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
  shard.names = read_names(opened, file, shard);
  return shard;
}

}  // namespace lockstep::data
