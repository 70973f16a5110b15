// Writes the shards of one split: all of them appear at once under their names, or none does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/shard.h"
#include "hdf5/handle.h"

namespace lockstep::data {

// The rows of each shard: as even as they can be, larger ones first.
std::vector<std::int64_t> even_rows(std::int64_t samples, std::int64_t shards);

// Samples and labels are uint8. The shards grow in a hidden folder beside `folder`, which takes its name when
// all is written and synced. Without publish() nothing is left behind.
class ShardWriter {
 public:
  // `rows`: of each shard. Throws Error(cannot_create) where `folder` exists and is not empty, or where
  // nothing can be written beside it.
  ShardWriter(const std::filesystem::path& folder, std::vector<std::int64_t> rows,
              std::vector<std::int64_t> sample_shape);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // The next samples, in order: labels.size() of them. Throws Error(cannot_create).
  void append(std::span<const std::uint8_t> samples, std::span<const std::uint8_t> labels);

  // Adds the attributes, syncs and renames. All rows must have been written. Throws Error(cannot_create).
  void publish(const Normalisation& normalisation, std::int64_t classes);

 private:
  void open_next();
  std::filesystem::path file(std::size_t shard) const;

  std::filesystem::path folder_;
  std::filesystem::path hidden_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> shape_;
  std::int64_t elements_ = 1;
  std::size_t current_ = 0;   // shard being written
  std::int64_t written_ = 0;  // rows of it
  hdf5::File open_;
  hdf5::Dataset x_;
  hdf5::Dataset y_;
};

}  // namespace lockstep::data
