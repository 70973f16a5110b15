// Writes the shards of one split: all of them appear at once under their names, or none does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/shard.h"
#include "hdf5/handle.h"

namespace lockstep::data {

// The rows of each shard: as even as they can be, larger ones first.
std::vector<std::int64_t> even_rows(std::int64_t samples, std::int64_t shards);

// What the rows of all shards look like.
struct RowForm {
  std::vector<std::int64_t> sample_shape;
  ElementType x = ElementType::u8;
  ElementType y = ElementType::u8;  // of class numbers, or a floating type of numbers to predict
  std::int64_t target_width = 0;    // numbers to predict for each sample; 0: y has class numbers
  Names names = {};

  std::int64_t sample_elements() const;
  std::int64_t sample_bytes() const { return sample_elements() * static_cast<std::int64_t>(size_of(x)); }
  std::int64_t label_bytes() const;
};

// The shards grow in a hidden folder beside `folder`, which takes its name when all is written and synced.
// Without publish() nothing is left behind.
class ShardWriter {
 public:
  // `rows`: of each shard. Throws Error(cannot_create) where `folder` exists and is not empty, or where
  // nothing can be written beside it.
  ShardWriter(const std::filesystem::path& folder, std::vector<std::int64_t> rows, RowForm form);
  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  // The next samples, in order, and as many labels, as numbers of the form's types in this machine's byte
  // order. Throws Error(cannot_create).
  void append(std::span<const std::byte> samples, std::span<const std::byte> labels);

  // A text beside the shards. Throws Error(cannot_create).
  void add_text(const std::string& name, const std::string& text);

  // Adds the attributes and names, syncs and renames. All rows must have been written. Throws
  // Error(cannot_create).
  void publish(const Normalisation& normalisation, std::optional<std::int64_t> classes);

 private:
  void open_next();
  std::filesystem::path file(std::size_t shard) const;

  std::filesystem::path folder_;
  std::filesystem::path hidden_;
  std::vector<std::int64_t> rows_;
  RowForm form_;
  std::size_t current_ = 0;   // shard being written
  std::int64_t written_ = 0;  // rows of it
  hdf5::File open_;
  hdf5::Dataset x_;
  hdf5::Dataset y_;
};

}  // namespace lockstep::data
