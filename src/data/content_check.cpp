#include "data/content_check.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/assemble.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kPieceBytes = 16 << 20;

}  // namespace

ContentCheck::ContentCheck(Dataset dataset, ContentDepth depth)
    : reader_(std::move(dataset)),
      columns_(depth == ContentDepth::x_and_y && is_floating(reader_.dataset().element_type())
                   ? Columns::x_and_y
                   : Columns::y) {
  const Shard& shard = reader_.dataset().shards().front();
  const std::int64_t row_bytes = shard.y.row_bytes() + (reads_x() ? shard.x.row_bytes() : 0);
  piece_ = std::max<std::int64_t>(1, kPieceBytes / row_bytes);
}

std::int64_t ContentCheck::check(std::int64_t first, std::int64_t end) {
  const std::int64_t rows = std::min(piece_, end - first);
  const Dataset& dataset = reader_.dataset();
  reader_.resize(rows_, rows, columns_);
  reader_.read(first, rows, rows_, 0, {}, columns_);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto fault = reads_x() ? sample_fault(dataset, rows_, row, first + row)
                                 : y_fault(dataset, rows_, row, first + row);
    if (fault) throw Error(ExitCode::bad_data, *fault);
  }
  return first + rows;
}

}  // namespace lockstep::data
