#include "data/label_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/convert.h"

namespace lockstep::data {

namespace {

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

}  // namespace

LabelRows::LabelRows(std::string place, ElementType type, const std::vector<std::int64_t>& row_shape,
                     LabelForm form)
    : place_(std::move(place)), type_(type), form_(form) {
  if (form_ == LabelForm::automatic) form_ = is_floating(type) ? LabelForm::targets : LabelForm::from_zero;
  if (row_shape.size() > 1) {
    bad(fmt::format("{} has rows of shape {}, wanted one class number or one list of numbers a row", place_,
                    shape_text(row_shape)));
  }
  if (!row_shape.empty()) width_ = row_shape.front();
  const bool single = form_ == LabelForm::from_zero || form_ == LabelForm::from_one;
  if (single && width_ != 1) {
    bad(
        fmt::format("{} has {} numbers a row, wanted one class number: for rows with a single 1 give "
                    "--label-form=one-hot, for numbers to predict --label-form=targets",
                    place_, width_));
  }
  if (form_ == LabelForm::one_hot && width_ < 2) {
    bad(fmt::format("{} has one number a row, wanted one for each class (--label-form=one-hot)", place_));
  }
}

std::span<const float> LabelRows::targets() const {
  return form_ == LabelForm::targets ? std::span<const float>(numbers_) : std::span<const float>();
}

void LabelRows::read(std::span<const std::byte> rows, std::int64_t first_row) {
  const std::size_t count = rows.size() / size_of(type_);
  if (form_ == LabelForm::targets || form_ == LabelForm::one_hot || is_floating(type_)) {
    numbers_.resize(count);
    to_floats(type_, rows.data(), Normalisation{}, numbers_);
  }
  if (form_ == LabelForm::targets) return;
  if (form_ == LabelForm::one_hot) {
    read_one_hot(first_row);
    return;
  }
  labels_.resize(count);
  if (is_floating(type_)) {
    read_whole_floats(first_row);
  } else {
    to_labels(type_, rows.data(), labels_);
    refuse_beyond_int64(first_row);
  }
  if (form_ != LabelForm::from_one) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (labels_[i] < 1) {
      bad(fmt::format("{} has label {} in row {}, wanted class numbers from 1 on (--label-form=from-1)",
                      place_, labels_[i], first_row + static_cast<std::int64_t>(i)));
    }
    --labels_[i];
  }
}

// Who gets the labels does not know that they were unsigned.
void LabelRows::refuse_beyond_int64(std::int64_t first_row) const {
  if (type_ != ElementType::u64) return;
  const auto bad_label =
      std::find_if(labels_.begin(), labels_.end(), [](std::int64_t label) { return label < 0; });
  if (bad_label == labels_.end()) return;
  bad(fmt::format("{} has label {} in row {}, wanted a class number", place_, label_text(type_, *bad_label),
                  first_row + (bad_label - labels_.begin())));
}

void LabelRows::read_one_hot(std::int64_t first_row) {
  const auto width = static_cast<std::size_t>(width_);
  labels_.clear();
  for (std::size_t i = 0; i < numbers_.size(); i += width) {
    std::int64_t hot = -1;
    std::int64_t others = 0;
    for (std::size_t k = 0; k < width; ++k) {
      if (numbers_[i + k] == 1 && hot < 0) {
        hot = static_cast<std::int64_t>(k);
      } else if (numbers_[i + k] != 0) {
        ++others;
      }
    }
    if (hot < 0 || others > 0) {
      bad(fmt::format("{} has no single 1 among zeros in row {}, wanted that for --label-form=one-hot",
                      place_, first_row + static_cast<std::int64_t>(i / width)));
    }
    labels_.push_back(hot);
  }
}

void LabelRows::read_whole_floats(std::int64_t first_row) {
  constexpr float exact = 16777216;  // 2^24: beyond it a float32 skips whole numbers
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const float value = numbers_[i];
    if (!(std::abs(value) <= exact) || value != std::floor(value)) {
      bad(
          fmt::format("{} has {} in row {}, wanted a whole number: for numbers to predict give "
                      "--label-form=targets",
                      place_, value, first_row + static_cast<std::int64_t>(i)));
    }
    labels_[i] = static_cast<std::int64_t>(value);
  }
}

}  // namespace lockstep::data
