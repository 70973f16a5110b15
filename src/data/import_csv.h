// Turns a CSV file, one sample a line, into the shards of one split.
#pragma once

#include <functional>
#include <memory>

#include "data/byte_input.h"
#include "data/csv_columns.h"
#include "data/importer.h"

namespace lockstep::data {

enum class CsvLabels {
  automatic,  // class numbers from 0 where all labels are whole numbers, or else names
  from_zero,
  from_one,
  names,
};

struct CsvImport {
  std::function<std::unique_ptr<ByteInput>()> open;  // called twice
  char separator = ',';
  CsvRoles roles;  // a label or targets, not both
  CsvLabels labels = CsvLabels::automatic;
  std::vector<std::int64_t> shape;  // of a sample; empty: one number for each column
};

// Samples become float32. Names of classes are numbered in the order of their bytes, or as classes.txt of
// `target.like` has them. Throws Error, naming file, line, column, value seen and wanted, and leaves nothing
// behind.
Imported import_csv(const CsvImport& job, const ImportTarget& target);

}  // namespace lockstep::data
