// What every importer does with its samples: check, measure, write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/importer.h"
#include "data/moments.h"
#include "data/shard_writer.h"

namespace lockstep::data {

// Consecutive samples of one input, with class numbers or with numbers to predict.
struct ImportPiece {
  std::span<const std::byte> x;
  std::span<const std::int64_t> labels;
  std::span<const float> targets;
  std::string x_place;  // as error texts call the input: "x.npy"
  std::string y_place;
  std::int64_t first_row = 0;  // of the input
};

class ShardImport {
 public:
  // `rows` samples in all; `groups` parts of a sample that are normalised by themselves. Throws Error(usage)
  // where there are fewer samples than shards, and as ShardWriter does.
  ShardImport(const ImportTarget& target, std::int64_t rows, RowForm form, std::int64_t groups = 1);

  // Throws Error(bad_data), naming place, row, value seen and wanted, where a label is outside the classes or
  // a number is not finite.
  void append(const ImportPiece& piece);

  // Publishes the shards; names of classes become classes.txt, too.
  Imported finish();

 private:
  void check_labels(const ImportPiece& piece);
  void check_finite(const ImportPiece& piece) const;
  std::int64_t classes_found() const;
  std::vector<std::int64_t> empty_classes(std::int64_t classes) const;

  const ImportTarget& target_;
  std::int64_t rows_;
  RowForm form_;
  ShardWriter writer_;
  Moments moments_;
  std::int64_t largest_ = 0;
  std::string largest_place_;
  std::vector<bool> seen_;  // by class, up to the largest that a sample has
  std::vector<std::byte> y_;
};

}  // namespace lockstep::data
