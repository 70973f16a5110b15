// Reads runs of samples out of the shards, as raw numbers. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <vector>

#include "data/dataset.h"

namespace lockstep::data {

// Samples as they lie in the files (this machine's byte order).
struct RawRows {
  std::vector<std::byte> x;     // rows * Column::row_bytes() of x
  std::vector<std::int64_t> y;  // labels, unchecked; empty where targets are
  std::vector<float> targets;   // rows * Dataset::target_width(), unchecked
};

enum class Columns { x_and_y, y };

class RowReader {
 public:
  explicit RowReader(Dataset dataset);
  ~RowReader();
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;

  const Dataset& dataset() const { return dataset_; }

  // Reads samples [first_id, first_id + rows) to row `at` of `out`, which is large enough. The run may cross
  // shards. Throws Error(bad_data) naming file and rows. HDF5's lock is held for one read of at most 64 MiB
  // at a time. Once `stop` is requested it may return early, leaving the rest unread.
  void read(std::int64_t first_id, std::int64_t rows, RawRows& out, std::int64_t at,
            const std::stop_token& stop = {}, Columns columns = Columns::x_and_y);

  // Makes room for `rows` samples; keeps what memory there is.
  void resize(RawRows& out, std::int64_t rows, Columns columns = Columns::x_and_y) const;

  // Calls `visit` with every label, in order; reads no x. Throws as read() does. For class numbers only.
  void for_each_label(const std::function<void(std::int64_t)>& visit);

  // Bytes taken from the files: of y the rows; of x the rows, or whole chunks (uncompressed) where it is
  // chunked.
  std::int64_t bytes_read() const { return bytes_read_; }

 private:
  struct OpenShard;
  OpenShard& opened(const Shard& shard);
  void read_column(OpenShard& open, const Column& column, std::int64_t row, std::int64_t rows, std::byte* out,
                   const std::stop_token& stop);

  Dataset dataset_;
  std::list<std::unique_ptr<OpenShard>> open_;  // most recently used first
  std::vector<std::byte> raw_y_;                // y before it is converted
  std::int64_t bytes_read_ = 0;
};

}  // namespace lockstep::data
