// Looks at what the samples of a split hold: labels, targets, numbers. What can be seen from the files'
// layouts alone, Dataset::open() has checked.
#pragma once

#include <cstdint>

#include "data/dataset.h"
#include "data/row_reader.h"

namespace lockstep::data {

enum class ContentDepth {
  y,  // labels within the classes, targets finite
  // The samples too: each number finite. Whole numbers cannot be otherwise and are not read.
  x_and_y,
};

class ContentCheck {
 public:
  ContentCheck(Dataset dataset, ContentDepth depth);

  // Samples looked at by one call of check(): some 16 MiB.
  std::int64_t piece() const { return piece_; }

  // Looks at samples [first, first + piece()) or up to `end`, and returns where it stopped. Throws
  // Error(bad_data) with the first fault: file, dataset, row, value seen, value wanted.
  std::int64_t check(std::int64_t first, std::int64_t end);

  // Whether x is read: then this is the whole of the data.
  bool reads_x() const { return columns_ == Columns::x_and_y; }

 private:
  RowReader reader_;
  Columns columns_;
  std::int64_t piece_;
  RawRows rows_;
};

}  // namespace lockstep::data
