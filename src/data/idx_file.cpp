#include "data/idx_file.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "core/error.h"

namespace lockstep::data {

namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "shorts";
    case 0x0c:
      return "ints";
    case 0x0d:
      return "floats";
    case 0x0e:
      return "doubles";
    default:
      return "an unknown type";
  }
}

}  // namespace

IdxFile::IdxFile(std::unique_ptr<ByteInput> input) : input_(std::move(input)) {
  constexpr std::string_view part = " in its header";
  std::array<std::uint8_t, 4> magic{};
  input_->read(magic, part);
  if (magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} is not an IDX file: it begins with {:02x} {:02x} {:02x} {:02x}, wanted 00 00, a type "
                    "and a rank",
                    place(), magic[0], magic[1], magic[2], magic[3]));
  }
  if (magic[2] != kUnsignedByte) {
    throw Error(ExitCode::bad_data, fmt::format("{} has {} (type {:02x}), wanted unsigned bytes (type 08)",
                                                place(), type_name(magic[2]), magic[2]));
  }
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> word{};
    input_->read(word, part);
    const std::int64_t extent = (std::int64_t{word[0]} << 24) | (word[1] << 16) | (word[2] << 8) | word[3];
    if (i == 0) {
      rows_ = extent;
    } else {
      row_shape_.push_back(extent);
    }
  }
  check_extent(place(), type(), rows_, row_shape_);
}

void IdxFile::read(std::span<std::byte> out) {
  input_->read({reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
}

void IdxFile::finish() {
  input_->expect_end(fmt::format("{} items of {} bytes", rows_, row_bytes()));
}

}  // namespace lockstep::data
