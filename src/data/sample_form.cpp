#include "data/sample_form.h"

#include <fmt/format.h>

#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace lockstep::data {

namespace {

ElementType sample_type(ElementType stored) {
  switch (stored) {
    case ElementType::u32:
    case ElementType::i32:
    case ElementType::u64:
    case ElementType::i64:
      return ElementType::f32;
    default:
      return stored;
  }
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) elements *= dim;
  return elements;
}

void check_rank(const std::string& place, const std::vector<std::int64_t>& shape, std::size_t rank,
                const char* layout) {
  if (shape.size() == rank) return;
  throw Error(
      ExitCode::bad_data,
      fmt::format("{} has samples of shape {}, wanted {} dimensions for --layout={}: correct --layout, "
                  "or give --shape",
                  place, shape_text(shape), rank, layout));
}

}  // namespace

std::vector<std::int64_t> parse_shape(const std::string& text) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (const std::string& part : split(text, 'x')) {
    const auto dim = parse_int(part);
    if (!dim || *dim < 1 || *dim > most / elements || shape.size() == 8) {
      throw Error(ExitCode::usage,
                  fmt::format("--shape is {}, wanted up to 8 numbers such as 3x32x32", text));
    }
    elements *= *dim;
    shape.push_back(*dim);
  }
  return shape;
}

SampleForm::SampleForm(std::string place, ElementType type, std::vector<std::int64_t> row_shape,
                       const std::vector<std::int64_t>& shape, RowLayout layout)
    : place_(std::move(place)), stored_(type), type_(sample_type(type)), shape_(std::move(row_shape)) {
  elements_ = product(shape_);
  if (!shape.empty()) {
    if (product(shape) != elements_) {
      throw Error(ExitCode::bad_data,
                  fmt::format("{} has samples of shape {}, {} numbers, which are not {} as --shape says",
                              place_, shape_text(shape_), elements_, shape_text(shape)));
    }
    shape_ = shape;
  }
  switch (layout) {
    case RowLayout::as_is:
      break;
    case RowLayout::chw:
      check_rank(place_, shape_, 3, "chw");
      break;
    case RowLayout::hwc:
      check_rank(place_, shape_, 3, "hwc");
      channels_last_ = shape_[2] > 1;
      shape_ = {shape_[2], shape_[0], shape_[1]};
      break;
    case RowLayout::hw:
      check_rank(place_, shape_, 2, "hw");
      shape_.insert(shape_.begin(), 1);
      break;
  }
}

template <typename T>
void SampleForm::narrow(std::span<const std::byte> rows, std::int64_t first_row) {
  narrowed_.resize(rows.size() / sizeof(T));
  constexpr std::int64_t exact = std::int64_t{1} << 24;
  for (std::size_t i = 0; i < narrowed_.size(); ++i) {
    T value;
    std::memcpy(&value, rows.data() + i * sizeof value, sizeof value);
    bool held = value <= static_cast<T>(exact);
    if constexpr (std::is_signed_v<T>) held = held && value >= -static_cast<T>(exact);
    if (!held) {
      throw Error(
          ExitCode::bad_data,
          fmt::format("{} has {} in row {}, beyond the whole numbers that a float32 holds (2^24): store "
                      "float64, or smaller numbers",
                      place_, value, first_row + static_cast<std::int64_t>(i) / elements_));
    }
    narrowed_[i] = static_cast<float>(value);
  }
}

void SampleForm::transpose(std::span<const std::byte> rows) {
  transposed_.resize(rows.size());
  const std::size_t size = size_of(type_);
  const auto channels = static_cast<std::size_t>(shape_[0]);
  const auto pixels = static_cast<std::size_t>(shape_[1] * shape_[2]);
  const std::size_t row_bytes = channels * pixels * size;
  for (std::size_t row = 0; row < rows.size(); row += row_bytes) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < pixels; ++p) {
        std::memcpy(transposed_.data() + row + (c * pixels + p) * size,
                    rows.data() + row + (p * channels + c) * size, size);
      }
    }
  }
}

std::span<const std::byte> SampleForm::apply(std::span<const std::byte> rows, std::int64_t first_row) {
  if (stored_ != type_) {
    switch (stored_) {
      case ElementType::u32:
        narrow<std::uint32_t>(rows, first_row);
        break;
      case ElementType::i32:
        narrow<std::int32_t>(rows, first_row);
        break;
      case ElementType::u64:
        narrow<std::uint64_t>(rows, first_row);
        break;
      default:
        narrow<std::int64_t>(rows, first_row);
    }
    rows = std::as_bytes(std::span<const float>(narrowed_));
  }
  if (channels_last_) {
    transpose(rows);
    rows = transposed_;
  }
  return rows;
}

}  // namespace lockstep::data
