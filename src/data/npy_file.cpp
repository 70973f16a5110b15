#include "data/npy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "data/npy_header.h"

namespace lockstep::data {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 20;
constexpr std::string_view kHeaderPart = " in its header";

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

struct Known {
  std::string_view code;
  ElementType type;
};

// Truth values are bytes of 0 and 1.
constexpr std::array<Known, 11> kKnown = {{{"u1", ElementType::u8},
                                           {"b1", ElementType::u8},
                                           {"i1", ElementType::i8},
                                           {"u2", ElementType::u16},
                                           {"i2", ElementType::i16},
                                           {"u4", ElementType::u32},
                                           {"i4", ElementType::i32},
                                           {"u8", ElementType::u64},
                                           {"i8", ElementType::i64},
                                           {"f4", ElementType::f32},
                                           {"f8", ElementType::f64}}};

std::string_view kind_name(char kind) {
  switch (kind) {
    case 'O':
      return "Python objects";
    case 'S':
    case 'a':
    case 'U':
      return "texts";
    case 'c':
      return "complex numbers";
    case 'M':
    case 'm':
      return "times";
    case 'V':
      return "raw or structured records";
    case 'f':
      return "floats of another size";
    default:
      return "an unknown type";
  }
}

ElementType element_type(const std::string& descr, const std::string& place) {
  const std::string_view code = std::string_view(descr).substr(std::min<std::size_t>(1, descr.size()));
  const auto known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.code == code; });
  const bool order_known =
      !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  if (order_known && known != kKnown.end()) return known->type;
  // NumPy writes objects as "|O".
  const char kind = order_known && !code.empty() ? code[0] : '\0';
  bad(
      fmt::format("{} has {} (type '{}'), wanted numbers (u1 to u8, i1 to i8, f4, f8): save "
                  "array.astype('float32') instead",
                  place, kind_name(kind), descr));
}

std::size_t header_length(ByteInput& input) {
  std::array<std::uint8_t, 8> start{};
  input.read(start, kHeaderPart);
  if (start[0] == 'P' && start[1] == 'K') {
    bad(fmt::format("{} is an .npz archive, wanted .npy: unpack it (unzip {}) and name the arrays in it",
                    input.name(), input.name()));
  }
  if (!std::equal(kMagic.begin(), kMagic.end(), start.begin(),
                  [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })) {
    bad(
        fmt::format("{} is not an NPY file: it begins with {:02x} {:02x} {:02x} {:02x}, wanted 93 4e 55 4d "
                    "(\\x93NUMPY)",
                    input.name(), start[0], start[1], start[2], start[3]));
  }
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    bad(fmt::format("{} has NPY version {}.{}, this program reads 1.0, 2.0 and 3.0", input.name(), version,
                    start[7]));
  }
  std::array<std::uint8_t, 4> length{};
  input.read(std::span(length).first(version == 1 ? 2 : 4), kHeaderPart);
  return length[0] | (length[1] << 8) | (length[2] << 16) | (std::size_t{length[3]} << 24);
}

void swap_bytes(std::span<std::byte> numbers, std::size_t size) {
  for (std::size_t at = 0; at < numbers.size(); at += size) {
    std::reverse(numbers.begin() + static_cast<std::ptrdiff_t>(at),
                 numbers.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
}

}  // namespace

NpyFile::NpyFile(std::unique_ptr<ByteInput> input) : input_(std::move(input)) {
  const std::size_t length = header_length(*input_);
  if (length > kMostHeader) {
    bad(fmt::format("{} has a header of {} bytes, wanted at most {}; get the file again", place(), length,
                    kMostHeader));
  }
  std::string text(length, '\0');
  input_->read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, kHeaderPart);
  const NpyHeader header = parse_npy_header(text, place());
  type_ = element_type(header.descr, place());
  const bool little =
      header.descr[0] == '<' || (header.descr[0] != '>' && std::endian::native == std::endian::little);
  swapped_ = little != (std::endian::native == std::endian::little);
  if (header.shape.empty()) bad(fmt::format("{} is a single value; it needs one row a sample", place()));
  rows_ = header.shape.front();
  row_shape_.assign(header.shape.begin() + 1, header.shape.end());
  check_extent(place(), type_, rows_, row_shape_);
  const auto wide = [](std::int64_t dim) { return dim > 1; };
  if (header.fortran_order && std::count_if(header.shape.begin(), header.shape.end(), wide) > 1) {
    bad(
        fmt::format("{} is in Fortran order (columns first), wanted C order: save "
                    "numpy.ascontiguousarray(array) instead",
                    place()));
  }
}

void NpyFile::read(std::span<std::byte> out) {
  input_->read({reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
  if (swapped_) swap_bytes(out, size_of(type_));
}

void NpyFile::finish() {
  input_->expect_end(fmt::format("{} rows of {} bytes", rows_, row_bytes()));
}

}  // namespace lockstep::data
