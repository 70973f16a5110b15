#include "data/verify.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "data/assemble.h"
#include "data/row_reader.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kPieceBytes = 16 << 20;

void verify_rows(const Dataset& dataset, Verified& result) {
  RowReader reader(dataset);
  RawRows rows;
  for (const Shard& shard : dataset.shards()) {
    const std::int64_t step = std::max(dataset.block_rows(shard), kPieceBytes / shard.x.row_bytes());
    for (std::int64_t row = 0; row < shard.rows(); row += step) {
      const std::int64_t count = std::min(step, shard.rows() - row);
      try {
        reader.resize(rows, count);
        reader.read(shard.first_id + row, count, rows, 0);
      } catch (const Error& error) {
        result.faults.emplace_back(error.what());
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (auto fault = sample_fault(dataset, rows, i, shard.first_id + row + i)) {
          result.faults.push_back(std::move(*fault));
        }
      }
      result.samples += count;
    }
  }
}

}  // namespace

Verified verify(const std::filesystem::path& folder) {
  Verified result;
  std::vector<Shard> shards;
  for (const std::filesystem::path& file : shard_files(folder)) {
    ++result.shards;
    try {
      shards.push_back(read_shard(file));
    } catch (const Error& error) {
      result.faults.emplace_back(error.what());
    }
  }
  if (shards.empty()) return result;
  try {
    verify_rows(Dataset::combine(folder, std::move(shards)), result);
  } catch (const Error& error) {
    result.faults.emplace_back(error.what());
  }
  return result;
}

std::vector<std::int64_t> class_counts(const Dataset& dataset) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dataset.classes()));
  RowReader(dataset).for_each_label([&](std::int64_t label) {
    if (label >= 0 && label < dataset.classes()) ++counts[static_cast<std::size_t>(label)];
  });
  return counts;
}

}  // namespace lockstep::data
