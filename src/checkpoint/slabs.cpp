#include "checkpoint/slabs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace lockstep::checkpoint {

RowRange rows_of(std::int64_t rows, int rank, int size) {
  return {rows * rank / size, rows * (rank + 1) / size};
}

std::vector<SlabRecord> plan_slabs(std::span<const TensorInfo> tensors, int size, std::int64_t slab_bytes) {
  constexpr std::int64_t max_row_bytes = std::int64_t{1} << 30;
  std::vector<SlabRecord> slabs;
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const TensorInfo& tensor = tensors[index];
    const std::int64_t bytes = row_bytes(tensor.shape);
    if (bytes == 0) continue;
    if (bytes > max_row_bytes) {
      throw Error(ExitCode::bad_config,
                  fmt::format("tensor {} {}: one row has {} bytes, a checkpoint takes at most {}; split the "
                              "tensor along its first dimension",
                              tensor.name, shape_text(tensor.shape), bytes, max_row_bytes));
    }
    const std::int64_t rows_per_slab = std::max<std::int64_t>(1, slab_bytes / bytes);
    for (int rank = 0; rank < size; ++rank) {
      const RowRange range = rows_of(row_count(tensor.shape), rank, size);
      for (std::int64_t row = range.first; row < range.last; row += rows_per_slab) {
        const std::int64_t rows = std::min(rows_per_slab, range.last - row);
        slabs.push_back({static_cast<std::int64_t>(index), row, rows, rank, 0, rows * bytes, 0});
      }
    }
  }
  return slabs;
}

}  // namespace lockstep::checkpoint
