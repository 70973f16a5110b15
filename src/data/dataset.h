// A dataset split: a folder of shards that agree with each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/shard.h"

namespace lockstep::data {

// Consecutive samples of one shard.
struct Block {
  std::int64_t first_id = 0;
  std::int64_t rows = 0;
};

class Dataset {
 public:
  // Reads the layout of every `*.h5` file in the folder. Throws Error(missing_input) where there is none and
  // Error(bad_data) where they are damaged or disagree. Samples have global ids 0..size()-1 in shard order,
  // shards in the order of their names (bytes compared).
  static Dataset open(const std::filesystem::path& folder);

  // From shards that were read one by one; checks what open() checks.
  static Dataset combine(const std::filesystem::path& folder, std::vector<Shard> shards);

  const std::filesystem::path& folder() const { return folder_; }
  std::span<const Shard> shards() const { return shards_; }
  std::int64_t size() const { return size_; }
  const std::vector<std::int64_t>& sample_shape() const { return shards_.front().x.shape; }
  std::int64_t sample_elements() const { return shards_.front().x.row_elements; }
  ElementType element_type() const { return shards_.front().x.type; }
  std::int64_t classes() const { return classes_; }  // 0 where the targets are numbers
  // Numbers to predict for each sample (regression); 0 where there are classes.
  std::int64_t target_width() const { return shards_.front().target_width(); }
  // What a model puts out for each sample: one number for each class or target.
  std::int64_t outputs() const { return classes_ > 0 ? classes_ : target_width(); }
  const Normalisation& normalisation() const { return shards_.front().normalisation; }

  // What the shards say about names, and the shard that says it; empty where none does.
  const Names& names() const { return names_; }
  const std::filesystem::path& named_in() const { return named_in_; }

  // Bytes of x and y as they lie in memory, all samples.
  std::int64_t bytes() const;

  // A stable number for what a run depends on: rows and block size of each shard, sample shape, number type,
  // classes or targets, normalisation, and the content of up to 16 samples spread over the dataset. File
  // names, compression and the exact place of bytes do not enter.
  std::uint64_t fingerprint() const { return fingerprint_; }

  // The shard that holds the sample; 0 <= id < size().
  const Shard& shard_of(std::int64_t id) const;

  // What an epoch shuffles: every shard cut into runs of block_rows(), whole chunks where it is chunked.
  std::vector<Block> blocks() const;
  std::int64_t block_rows(const Shard& shard) const;

 private:
  Dataset(std::filesystem::path folder, std::vector<Shard> shards);
  void take_names(Shard& shard);
  std::uint64_t compute_fingerprint() const;

  std::filesystem::path folder_;
  std::vector<Shard> shards_;
  Names names_;
  std::filesystem::path named_in_;
  std::int64_t size_ = 0;
  std::int64_t classes_ = 0;
  std::uint64_t fingerprint_ = 0;
};

// Throws Error(bad_data), naming file and first difference, where both say how their features, targets or
// classes are called, and not alike.
void check_same_names(const Dataset& dataset, const Dataset& wanted);

// The `*.h5` files of a folder in order; throws Error(missing_input) where the folder or any file is missing.
std::vector<std::filesystem::path> shard_files(const std::filesystem::path& folder);

}  // namespace lockstep::data
