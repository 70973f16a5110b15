// What the numbers of a sample, the numbers to predict and the classes are called, where a shard says it
// (docs/shard-format.md): a split whose columns stand in another order has the same shape, and nothing else
// would show it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/handle.h"

namespace lockstep::data {

// Each list may be empty: not known.
struct Names {
  std::vector<std::string> features;  // of the numbers of a sample, in the order in which they are stored
  std::vector<std::string> targets;   // of the numbers to predict
  std::vector<std::string> classes;   // of class 0, 1, ...; the last ones may have none

  bool empty() const { return features.empty() && targets.empty() && classes.empty(); }
};

// The datasets of a shard that hold the lists.
inline constexpr const char* feature_names = "feature_names";
inline constexpr const char* target_names = "target_names";
inline constexpr const char* class_names = "class_names";

// The texts in dataset `name` of the root group, of fixed or varying length; empty where there is no such
// dataset. Throws Error(bad_data), naming file and dataset, where it is no list of texts in UTF-8 or has more
// than `most`. Called with HDF5's lock held.
std::vector<std::string> read_texts(const hdf5::File& opened, const std::filesystem::path& file,
                                    const std::string& name, std::int64_t most);

// The first name that differs, of those that both know: `feature 3 "width", where b.h5 has "length"`. Classes
// that only one side has are no difference.
std::optional<std::string> difference(const Names& seen, const Names& wanted,
                                      const std::string& wanted_place);

}  // namespace lockstep::data
