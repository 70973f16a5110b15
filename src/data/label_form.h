// From the rows of somebody's y to class numbers from 0, or to numbers to predict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/shard.h"

namespace lockstep::data {

enum class LabelForm {
  automatic,  // integers: class numbers from 0; floats: numbers to predict
  from_zero,
  from_one,
  one_hot,  // a row has a 1 at its class, zeros elsewhere
  targets,  // numbers to predict
};

class LabelRows {
 public:
  // Throws Error(bad_data), naming `place`, where rows of this shape cannot be what `form` says.
  LabelRows(std::string place, ElementType type, const std::vector<std::int64_t>& row_shape, LabelForm form);

  // Numbers to predict for each sample; 0 where there are class numbers.
  std::int64_t target_width() const { return form_ == LabelForm::targets ? width_ : 0; }
  // The width of one-hot rows, or else 0.
  std::int64_t one_hot_classes() const { return form_ == LabelForm::one_hot ? width_ : 0; }

  // Reads whole rows into labels() or targets(). Throws Error(bad_data) naming row, value seen and wanted.
  // Whether a label is one of the classes, and a target is finite, is not looked at.
  void read(std::span<const std::byte> rows, std::int64_t first_row);
  std::span<const std::int64_t> labels() const { return labels_; }
  std::span<const float> targets() const;

 private:
  void refuse_beyond_int64(std::int64_t first_row) const;
  void read_one_hot(std::int64_t first_row);
  void read_whole_floats(std::int64_t first_row);

  std::string place_;
  ElementType type_;
  LabelForm form_;
  std::int64_t width_ = 1;
  std::vector<std::int64_t> labels_;
  std::vector<float> numbers_;
};

}  // namespace lockstep::data
