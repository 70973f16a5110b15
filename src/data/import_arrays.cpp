#include "data/import_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"
#include "data/shard_import.h"

namespace lockstep::data {

namespace {

constexpr std::int64_t kPieceBytes = 8 << 20;

[[noreturn]] void bad(const std::string& text) {
  throw Error(ExitCode::bad_data, text);
}

std::string kind_of(const ArrayInput& array) {
  return fmt::format("{} of {}", shape_text(array.row_shape()), name_of(array.type()));
}

void check_pairs(const std::vector<ArrayPair>& pairs) {
  const ArrayPair& first = pairs.front();
  for (const ArrayPair& pair : pairs) {
    if (pair.x->rows() != pair.y->rows()) {
      bad(fmt::format("{} has {} rows, but {} has {}: each sample needs one label; do they belong together?",
                      pair.x->place(), pair.x->rows(), pair.y->place(), pair.y->rows()));
    }
    for (const auto& [one, other] :
         {std::pair(first.x.get(), pair.x.get()), std::pair(first.y.get(), pair.y.get())}) {
      if (one->row_shape() != other->row_shape() || one->type() != other->type()) {
        bad(fmt::format("{} has rows of {}, but {} has rows of {}: import them apart, or make them alike",
                        one->place(), kind_of(*one), other->place(), kind_of(*other)));
      }
    }
  }
}

void append(const ArrayPair& pair, SampleForm& samples, LabelRows& labels, ShardImport& shards) {
  std::vector<std::byte> x;
  std::vector<std::byte> y;
  const std::int64_t piece = std::max<std::int64_t>(1, kPieceBytes / pair.x->row_bytes());
  for (std::int64_t row = 0; row < pair.x->rows(); row += piece) {
    const std::int64_t rows = std::min(piece, pair.x->rows() - row);
    x.resize(static_cast<std::size_t>(rows * pair.x->row_bytes()));
    y.resize(static_cast<std::size_t>(rows * pair.y->row_bytes()));
    pair.x->read(x);
    pair.y->read(y);
    labels.read(y, row);
    shards.append(
        {samples.apply(x, row), labels.labels(), labels.targets(), pair.x->place(), pair.y->place(), row});
  }
  pair.x->finish();
  pair.y->finish();
}

}  // namespace

ArrayForm array_form(const ImportArguments& arguments) {
  static constexpr std::array<std::string_view, 4> layouts = {"as-is", "chw", "hwc", "hw"};
  static constexpr std::array<std::string_view, 5> forms = {"auto", "from-0", "from-1", "one-hot", "targets"};
  return {parse_shape(arguments.text("shape")), static_cast<RowLayout>(arguments.choice("layout", layouts)),
          static_cast<LabelForm>(arguments.choice("label-form", forms))};
}

Imported import_arrays(std::vector<ArrayPair> pairs, const ArrayForm& form, const ImportTarget& target) {
  check_pairs(pairs);
  const ArrayInput& x = *pairs.front().x;
  const ArrayInput& y = *pairs.front().y;
  std::int64_t rows = 0;
  for (const ArrayPair& pair : pairs) rows += pair.x->rows();
  if (rows == 0) bad(fmt::format("{} has no row", x.place()));

  const auto samples_of = [&](const ArrayPair& pair) {
    return SampleForm(pair.x->place(), x.type(), x.row_shape(), form.shape, form.layout);
  };
  const auto labels_of = [&](const ArrayPair& pair) {
    return LabelRows(pair.y->place(), y.type(), y.row_shape(), form.labels);
  };
  const SampleForm samples = samples_of(pairs.front());
  const LabelRows labels = labels_of(pairs.front());
  ImportTarget with_classes = target;
  if (labels.one_hot_classes() > 0 && !target.classes) with_classes.classes = labels.one_hot_classes();
  RowForm row{samples.shape(), samples.type(), ElementType::i64, labels.target_width()};
  if (row.target_width > 0) row.y = ElementType::f32;
  const bool has_channels = form.layout == RowLayout::chw || form.layout == RowLayout::hwc;
  ShardImport shards(with_classes, rows, row, has_channels ? row.sample_shape.front() : 1);
  for (const ArrayPair& pair : pairs) {
    SampleForm own_samples = samples_of(pair);
    LabelRows own_labels = labels_of(pair);
    append(pair, own_samples, own_labels, shards);
  }
  return shards.finish();
}

}  // namespace lockstep::data
