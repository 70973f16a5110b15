// Reads a whole split and says what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lockstep::data {

struct Verified {
  std::int64_t shards = 0;
  std::int64_t samples = 0;         // that could be read
  std::vector<std::string> faults;  // one line each; empty where all is well
};

// Finds every fault: shards that cannot be opened or do not agree, rows that cannot be read, labels outside
// the classes, numbers that are not finite. Throws Error(missing_input) where there is no shard.
Verified verify(const std::filesystem::path& folder);

// Samples of each class; labels outside the classes are not counted. Throws Error(bad_data) where y cannot be
// read.
std::vector<std::int64_t> class_counts(const Dataset& dataset);

}  // namespace lockstep::data
