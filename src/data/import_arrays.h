// Turns pairs of arrays, samples and labels, into the shards of one split: what the importers of NPY and HDF5
// files share.
#pragma once

#include <memory>
#include <vector>

#include "data/array_input.h"
#include "data/importer.h"
#include "data/label_form.h"
#include "data/sample_form.h"

namespace lockstep::data {

struct ArrayPair {
  std::unique_ptr<ArrayInput> x;
  std::unique_ptr<ArrayInput> y;
};

struct ArrayForm {
  std::vector<std::int64_t> shape;  // of a sample; empty: that of the rows
  RowLayout layout = RowLayout::as_is;
  LabelForm labels = LabelForm::automatic;
};

// The options --shape, --layout and --label-form, and their values. Throws Error(usage).
inline constexpr ImportOption shape_option = {
    "shape", "AxBxC", "the shape of a sample, where rows are flat; default: that of the rows"};
inline constexpr ImportOption layout_option = {
    "layout", "L", "what rows are: as-is (the default), chw, hwc (is transposed), hw (gets a channel)"};
inline constexpr ImportOption label_form_option = {"label-form", "F",
                                                   "what y is: from-0 (class numbers; the default for "
                                                   "integers), from-1, one-hot, targets (numbers to predict; "
                                                   "the default for floats)"};
ArrayForm array_form(const ImportArguments& arguments);

// The rows of all pairs, in order. Throws Error where the arrays do not fit each other.
Imported import_arrays(std::vector<ArrayPair> pairs, const ArrayForm& form, const ImportTarget& target);

}  // namespace lockstep::data
