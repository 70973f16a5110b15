// Turns a pair of IDX files, images and labels, into the shards of one split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockstep::data {

struct IdxImport {
  std::filesystem::path images;
  std::filesystem::path labels;
  std::filesystem::path out;  // folder; must be absent or empty
  std::int64_t shards = 1;
  std::optional<std::int64_t> classes;  // default: the largest label + 1
  double scale = 1.0 / 255;             // bytes to [0, 1]
  std::optional<double> mean;           // of the scaled values; default: measured over the images
  std::optional<double> std;
};

struct IdxImported {
  std::int64_t samples = 0;
  std::int64_t classes = 0;
  double mean = 0;
  double std = 1;
};

// Images of rank 2 (height, width) get a channel in front: x is [n, 1, height, width]. Throws Error and
// leaves nothing behind where a file is missing, damaged, or does not fit the other.
IdxImported import_idx(const IdxImport& job);

}  // namespace lockstep::data
