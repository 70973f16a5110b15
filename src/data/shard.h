// One shard: an HDF5 file with `x` (samples) and `y` (labels, or numbers to predict), as docs/shard-format.md
// describes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/names.h"
#include "data/normalisation.h"

namespace lockstep::data {

// How numbers lie in memory once read: always in this machine's byte order.
enum class ElementType { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

std::string_view name_of(ElementType type);
std::size_t size_of(ElementType type);
bool is_floating(ElementType type);
std::int64_t hdf5_type(ElementType type);  // a hid_t

enum class Layout { contiguous, chunked, compact };

// One dataset of a shard: `rows` rows of `row_elements` numbers.
struct Column {
  std::string name;                 // "x" or "y"
  std::vector<std::int64_t> shape;  // of one row
  std::int64_t rows = 0;
  std::int64_t row_elements = 1;
  ElementType type = ElementType::u8;
  Layout layout = Layout::contiguous;
  std::int64_t chunk_rows = 0;  // 0 unless chunked
  std::string filters;          // "", "deflate", "shuffle+deflate", ...
  // Where the bytes lie in the file, when they lie there unfiltered and in this machine's own format: then no
  // HDF5 call is needed to read them.
  std::optional<std::int64_t> file_offset;

  std::int64_t row_bytes() const { return row_elements * static_cast<std::int64_t>(size_of(type)); }
};

struct Shard {
  std::filesystem::path file;
  std::int64_t first_id = 0;  // global id of its first sample
  Column x;
  Column y;
  Normalisation normalisation;
  std::optional<std::int64_t> classes;  // where the file says it
  Names names;

  std::int64_t rows() const { return x.rows; }
  // Numbers to predict for each sample (regression); 0 where y holds class numbers.
  std::int64_t target_width() const { return is_floating(y.type) ? y.row_elements : 0; }
};

// Reads the layout of one file and checks that it can be read here. Throws Error(missing_input) or
// Error(bad_data) naming file, dataset, the value seen and the value wanted.
Shard read_shard(const std::filesystem::path& file);

// "28x28", "scalar".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace lockstep::data
