#include "train/identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace lockstep::train {

namespace {

std::string shape_of(const data::Dataset& dataset) {
  return fmt::format("{}", fmt::join(dataset.sample_shape(), "x"));
}

std::string outputs_of(const data::Dataset& dataset) {
  return dataset.target_width() > 0 ? fmt::format("{} targets", dataset.target_width())
                                    : fmt::format("{} classes", dataset.classes());
}

template <typename T>
const T& value_of(const checkpoint::State& state, const std::string& key) {
  const auto at = state.values.find(key);
  if (at == state.values.end() || !std::holds_alternative<T>(at->second)) {
    throw Error(ExitCode::bad_data,
                fmt::format("the checkpoint of step {} has no value {} of the wanted type", state.step, key));
  }
  return std::get<T>(at->second);
}

}  // namespace

std::string identity_of(const data::Dataset& dataset) {
  return fmt::format("{} samples of {}, {}, fingerprint {:016x}", dataset.size(), shape_of(dataset),
                     outputs_of(dataset), dataset.fingerprint());
}

void check_same_kind(const data::Dataset& train, const data::Dataset& test) {
  if (test.sample_shape() != train.sample_shape() || test.classes() > train.classes() ||
      test.target_width() != train.target_width()) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} has samples of {} with {}, the training data {} with {}: they do not belong together",
                    test.folder().string(), shape_of(test), outputs_of(test), shape_of(train),
                    outputs_of(train)));
  }
  if (test.normalisation() != train.normalisation()) {
    throw Error(
        ExitCode::bad_data,
        fmt::format(
            "{} is normalised by {}, the training data by {}: import the test split with the training "
            "split's values",
            test.folder().string(), data::text_of(test.normalisation()),
            data::text_of(train.normalisation())));
  }
  data::check_same_names(test, train);
}

Changes compare_with(const checkpoint::State& state, const ResolvedConfig& resolved,
                     const data::Dataset& train, const data::Dataset* test) {
  Changes changes;
  for (const Difference& difference : differences(text_value(state, "config"), resolved)) {
    const std::string text =
        fmt::format("{}: {} in the checkpoint, {} now", difference.key, difference.before, difference.now);
    (difference.change == Change::refused ? changes.refused : changes.allowed).push_back(text);
    if (difference.change == Change::refused && !difference.key.starts_with("model."))
      changes.new_order = true;
  }
  const auto compare = [&](const char* key, const std::string& now) {
    const std::string before = text_value(state, key);
    if (before == now) return false;
    changes.refused.push_back(fmt::format("{}: {} in the checkpoint, {} now", key,
                                          before.empty() ? "none" : before, now.empty() ? "none" : now));
    return true;
  };
  if (compare("train_data", identity_of(train))) changes.new_order = true;
  compare("test_data", test != nullptr ? identity_of(*test) : "");
  return changes;
}

std::int64_t int_value(const checkpoint::State& state, const std::string& key) {
  return value_of<std::int64_t>(state, key);
}

double real_value(const checkpoint::State& state, const std::string& key) {
  return value_of<double>(state, key);
}

std::string text_value(const checkpoint::State& state, const std::string& key) {
  return value_of<std::string>(state, key);
}

}  // namespace lockstep::train
