// Is this the run that the checkpoint belongs to? (contract C10)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "data/dataset.h"
#include "train/config_source.h"

namespace lockstep::train {

// What a dataset is, in words: samples, shape, classes, fingerprint. Two datasets with the same text give the
// same run.
std::string identity_of(const data::Dataset& dataset);

// Throws Error(bad_data) unless the test split has samples of the same kind as the training split, their
// columns in the same order.
void check_same_kind(const data::Dataset& train, const data::Dataset& test);

struct Changes {
  std::vector<std::string> refused;  // "run.seed: 1 in the checkpoint, 2 now"
  std::vector<std::string> allowed;
  bool new_order = false;  // the old order of samples means nothing any more
};

Changes compare_with(const checkpoint::State& state, const ResolvedConfig& resolved,
                     const data::Dataset& train, const data::Dataset* test);

// Values of a state; throw Error(bad_data) where the state has no such value, or one of another type.
std::int64_t int_value(const checkpoint::State& state, const std::string& key);
double real_value(const checkpoint::State& state, const std::string& key);
std::string text_value(const checkpoint::State& state, const std::string& key);

}  // namespace lockstep::train
