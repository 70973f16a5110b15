// Evaluation batches: each sample of a split once, in file order, read ahead in the background.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/prefetcher.h"

namespace lockstep::data {

// Number of micro-batches in an evaluation of the whole split.
std::int64_t evaluation_batches(const Dataset& dataset, std::int64_t micro_batch);

// Hands out the listed micro-batches of the split, in the list's order: number k has the samples
// [k * micro_batch, min(size, (k + 1) * micro_batch)) in file order. Batch::step_in_epoch is k, lane 0. Lists
// of consecutive numbers read a chunked dataset's chunks only once.
class EvalReader {
 public:
  // Throws Error(bad_config) where a number is not in [0, evaluation_batches()).
  EvalReader(Dataset dataset, std::int64_t micro_batch, std::vector<std::int64_t> batches,
             std::size_t depth = 4);
  ~EvalReader();

  // As Loader::next; nothing also when all have been taken: then finished() is true.
  std::optional<Batch> next(std::chrono::milliseconds limit);
  void recycle(Batch&& batch);
  bool finished() const;
  std::int64_t bytes_read() const;

 private:
  class Producer;
  std::unique_ptr<Producer> producer_;
  Prefetcher prefetcher_;
};

}  // namespace lockstep::data
