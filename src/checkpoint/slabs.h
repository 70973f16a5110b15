// Who writes which rows: the table of slabs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/state.h"

namespace lockstep::checkpoint {

inline constexpr std::int64_t default_slab_bytes = std::int64_t{256} << 20;

// One row of the dataset /meta/slabs, byte for byte (little-endian, no padding).
struct SlabRecord {
  std::int64_t tensor = 0;     // index into /meta/tensors
  std::int64_t first_row = 0;  // of the tensor's first dimension
  std::int64_t rows = 0;
  std::int64_t writer = 0;  // rank that wrote it
  std::int64_t offset = 0;  // of its first byte, from the start of the file
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;  // XXH3-64 of its bytes, made by the writer from its memory
  bool operator==(const SlabRecord&) const = default;
};
static_assert(sizeof(SlabRecord) == 56);

// Rows [first, last) of a tensor with `rows` rows that rank `rank` of `size` writes.
struct RowRange {
  std::int64_t first;
  std::int64_t last;
};
RowRange rows_of(std::int64_t rows, int rank, int size);

// All slabs of all ranks, tensor by tensor, rank by rank; offsets and hashes still 0. A slab has at most
// `slab_bytes` bytes, but at least one row; tensors without elements have none. Throws Error(bad_config) for
// a row beyond 1 GiB, which HDF5 cannot write in one call.
std::vector<SlabRecord> plan_slabs(std::span<const TensorInfo> tensors, int size, std::int64_t slab_bytes);

}  // namespace lockstep::checkpoint
