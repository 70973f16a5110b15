// Puts stored samples into batches: checked, converted, normalised, augmented.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/augment.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/row_reader.h"

namespace lockstep::data {

// What is wrong with the sample in row `row` of `stored`, whose global id is `id`: a label outside the
// classes, or a number that is not finite; names file, row, dataset and value.
std::optional<std::string> sample_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                        std::int64_t id);

// The same for its row of y alone: x need not have been read.
std::optional<std::string> y_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                   std::int64_t id);

// Appends that sample, changed as `augmenter` says for the batch's epoch; throws Error(bad_data) with its
// fault.
void append_sample(Batch& batch, const Dataset& dataset, const RawRows& stored, std::int64_t row,
                   std::int64_t id, const Augmenter* augmenter = nullptr);

// Empties the batch but keeps its buffers.
void clear_samples(Batch& batch);

}  // namespace lockstep::data
