#include "data/assemble.h"

#include <fmt/format.h>

#include <span>

#include "core/error.h"
#include "data/convert.h"

namespace lockstep::data {

namespace {

const std::byte* values_of(const Dataset& dataset, const RawRows& stored, std::int64_t row) {
  return stored.x.data() + row * dataset.shards().front().x.row_bytes();
}

}  // namespace

std::optional<std::string> sample_fault(const Dataset& dataset, const RawRows& stored, std::int64_t row,
                                        std::int64_t id) {
  const std::int64_t label = stored.y[static_cast<std::size_t>(row)];
  if (label < 0 || label >= dataset.classes()) {
    const Shard& shard = dataset.shard_of(id);
    return fmt::format("row {} of {} has label {}, wanted 0 to {}: correct y, or attribute classes",
                       id - shard.first_id, shard.file.string(), label, dataset.classes() - 1);
  }
  const auto bad =
      first_non_finite(dataset.element_type(), values_of(dataset, stored, row), dataset.sample_elements());
  if (!bad) return std::nullopt;
  const Shard& shard = dataset.shard_of(id);
  return fmt::format(
      "row {} of {} has a number in x that is not finite, at index {} of the sample: correct x, or leave the "
      "sample out",
      id - shard.first_id, shard.file.string(), *bad);
}

void append_sample(Batch& batch, const Dataset& dataset, const RawRows& stored, std::int64_t row,
                   std::int64_t id) {
  if (const auto fault = sample_fault(dataset, stored, row, id)) throw Error(ExitCode::bad_data, *fault);
  const auto elements = static_cast<std::size_t>(dataset.sample_elements());
  batch.x.resize(batch.x.size() + elements);
  to_floats(dataset.element_type(), values_of(dataset, stored, row), dataset.normalisation(),
            std::span(batch.x).last(elements));
  batch.y.push_back(static_cast<std::int32_t>(stored.y[static_cast<std::size_t>(row)]));
  batch.ids.push_back(id);
  ++batch.size;
}

void clear_samples(Batch& batch) {
  batch.x.clear();
  batch.y.clear();
  batch.ids.clear();
  batch.size = 0;
}

}  // namespace lockstep::data
