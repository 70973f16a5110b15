#include "data/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/error.h"
#include "data/convert.h"

namespace lockstep::data {

namespace {

const std::byte* values_of(const Dataset& dataset, const RawRows& stored, std::int64_t row) {
  return stored.x.data() + row * dataset.shards().front().x.row_bytes();
}

std::span<const float> targets_of(const Dataset& dataset, const RawRows& stored, std::int64_t row) {
  const auto width = static_cast<std::size_t>(dataset.target_width());
  return std::span(stored.targets).subspan(static_cast<std::size_t>(row) * width, width);
}

// "row 7 of dataset y of train/a.h5"
std::string row_text(const Dataset& dataset, std::int64_t id, const char* name) {
  const Shard& shard = dataset.shard_of(id);
  return fmt::format("row {} of dataset {} of {}", id - shard.first_id, name, shard.file.string());
}

std::optional<std::string> x_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                   std::int64_t id) {
  const std::byte* values = values_of(dataset, stored, row);
  const auto bad = first_non_finite(dataset.element_type(), values, dataset.sample_elements());
  if (!bad) return std::nullopt;
  return fmt::format(
      "{} has {} at index {} of the sample, wanted a finite number within float32: correct x, or leave the "
      "sample out",
      row_text(dataset, id, "x"), number_at(dataset.element_type(), values, *bad), *bad);
}

}  // namespace

std::optional<std::string> y_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                   std::int64_t id) {
  if (dataset.target_width() > 0) {
    const auto targets = targets_of(dataset, stored, row);
    const auto bad = std::find_if(targets.begin(), targets.end(), [](float v) { return !std::isfinite(v); });
    if (bad == targets.end()) return std::nullopt;
    return fmt::format("{} has {} at index {}, wanted a finite float32: correct y, or leave the sample out",
                       row_text(dataset, id, "y"), *bad, bad - targets.begin());
  }
  const std::int64_t label = stored.y[static_cast<std::size_t>(row)];
  if (label >= 0 && label < dataset.classes()) return std::nullopt;
  return fmt::format("{} has label {}, wanted 0 to {}: correct y, or attribute classes",
                     row_text(dataset, id, "y"), label_text(dataset.shard_of(id).y.type, label),
                     dataset.classes() - 1);
}

std::optional<std::string> sample_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                        std::int64_t id) {
  auto fault = y_fault(dataset, stored, row, id);
  return fault ? fault : x_fault(dataset, stored, row, id);
}

void append_sample(Batch& batch, const Dataset& dataset, const RawRows& stored, std::int64_t row,
                   std::int64_t id, const Augmenter* augmenter) {
  if (const auto fault = sample_fault(dataset, stored, row, id)) throw Error(ExitCode::bad_data, *fault);
  const auto elements = static_cast<std::size_t>(dataset.sample_elements());
  batch.x.resize(batch.x.size() + elements);
  const auto out = std::span(batch.x).last(elements);
  const std::byte* values = values_of(dataset, stored, row);
  if (augmenter == nullptr) {
    to_floats(dataset.element_type(), values, dataset.normalisation(), out);
  } else {
    to_floats(dataset.element_type(), values, dataset.normalisation(), augmenter->image(),
              augmenter->cut(batch.epoch, id), out);
  }
  if (dataset.target_width() > 0) {
    const auto targets = targets_of(dataset, stored, row);
    batch.targets.insert(batch.targets.end(), targets.begin(), targets.end());
  } else {
    batch.y.push_back(static_cast<std::int32_t>(stored.y[static_cast<std::size_t>(row)]));
  }
  batch.ids.push_back(id);
  ++batch.size;
}

void clear_samples(Batch& batch) {
  batch.x.clear();
  batch.y.clear();
  batch.targets.clear();
  batch.ids.clear();
  batch.size = 0;
}

}  // namespace lockstep::data
