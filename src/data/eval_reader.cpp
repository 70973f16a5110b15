#include "data/eval_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/error.h"
#include "data/assemble.h"
#include "data/row_reader.h"

namespace lockstep::data {

std::int64_t evaluation_batches(const Dataset& dataset, std::int64_t micro_batch) {
  return (dataset.size() + micro_batch - 1) / micro_batch;
}

class EvalReader::Producer {
 public:
  Producer(Dataset dataset, std::int64_t micro_batch, std::vector<std::int64_t> batches)
      : reader_(std::move(dataset)), micro_batch_(micro_batch), batches_(std::move(batches)) {
    if (micro_batch < 1) {
      throw Error(ExitCode::bad_config, fmt::format("micro_batch is {}, wanted at least 1", micro_batch));
    }
    const std::int64_t count = evaluation_batches(reader_.dataset(), micro_batch);
    for (const std::int64_t number : batches_) {
      if (number < 0 || number >= count) {
        throw Error(ExitCode::bad_config,
                    fmt::format("evaluation batch {} does not exist: there are {}", number, count));
      }
    }
  }

  bool fill(Batch& batch, const std::stop_token& stop) {
    if (next_ == batches_.size()) return false;
    const std::int64_t number = batches_[next_++];
    const std::int64_t first = number * micro_batch_;
    const std::int64_t rows = std::min(micro_batch_, reader_.dataset().size() - first);
    clear_samples(batch);
    batch.epoch = 0;
    batch.step_in_epoch = number;
    batch.lane = 0;
    reader_.resize(stored_, rows);
    reader_.read(first, rows, stored_, 0, stop);
    if (stop.stop_requested()) return false;
    for (std::int64_t row = 0; row < rows; ++row)
      append_sample(batch, reader_.dataset(), stored_, row, first + row);
    bytes_read_.store(reader_.bytes_read(), std::memory_order_relaxed);
    return true;
  }

  std::int64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  RowReader reader_;
  const std::int64_t micro_batch_;
  const std::vector<std::int64_t> batches_;
  std::size_t next_ = 0;
  RawRows stored_;
  std::atomic<std::int64_t> bytes_read_ = 0;
};

EvalReader::EvalReader(Dataset dataset, std::int64_t micro_batch, std::vector<std::int64_t> batches,
                       std::size_t depth)
    : producer_(std::make_unique<Producer>(std::move(dataset), micro_batch, std::move(batches))),
      prefetcher_([producer = producer_.get()](
                      Batch& batch, const std::stop_token& stop) { return producer->fill(batch, stop); },
                  depth) {}

EvalReader::~EvalReader() = default;

std::optional<Batch> EvalReader::next(std::chrono::milliseconds limit) {
  return prefetcher_.next(limit);
}

void EvalReader::recycle(Batch&& batch) {
  prefetcher_.recycle(std::move(batch));
}

bool EvalReader::finished() const {
  return prefetcher_.finished();
}

std::int64_t EvalReader::bytes_read() const {
  return producer_->bytes_read();
}

}  // namespace lockstep::data
