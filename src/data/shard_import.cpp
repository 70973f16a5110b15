#include "data/shard_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "data/convert.h"

namespace lockstep::data {

namespace {

// Beyond it a column of labels is more likely something else.
constexpr std::int64_t kMostClassesUnasked = 100'000;
constexpr std::int64_t kMostClasses = 2147483647;

std::vector<std::int64_t> rows_of_shards(const ImportTarget& target, std::int64_t rows) {
  if (rows < 1) throw Error(ExitCode::bad_data, "the input has no sample");
  if (target.shards < 1 || target.shards > rows) {
    throw Error(ExitCode::usage,
                fmt::format("{} shards for {} samples: wanted 1 to {}", target.shards, rows, rows));
  }
  return even_rows(rows, target.shards);
}

// The shape and types of this import, once they are known to fit.
RowForm checked(const ImportTarget& target, RowForm form) {
  if (form.target_width > 0 && target.classes) {
    throw Error(ExitCode::usage, fmt::format("{}, but here are numbers to predict",
                                             target.like.empty() ? "--classes is given"
                                                                 : target.like.string() + " has classes"));
  }
  if (!target.like.empty() && target.like_shape != form.sample_shape) {
    throw Error(
        ExitCode::bad_data,
        fmt::format("samples are {}, but those in {} are {}: both splits need the same shape",
                    shape_text(form.sample_shape), target.like.string(), shape_text(target.like_shape)));
  }
  return form;
}

}  // namespace

ShardImport::ShardImport(const ImportTarget& target, std::int64_t rows, RowForm form, std::int64_t groups)
    : target_(target),
      rows_(rows),
      form_(checked(target, std::move(form))),
      writer_(target.out, rows_of_shards(target, rows), form_),
      moments_(form_.x, form_.sample_elements(), groups) {}

void ShardImport::check_labels(const ImportPiece& piece) {
  const std::int64_t classes = target_.classes.value_or(kMostClasses);
  for (std::size_t i = 0; i < piece.labels.size(); ++i) {
    const std::int64_t label = piece.labels[i];
    if (label >= 0 && label < classes) {
      if (label < kMostClassesUnasked) {
        const auto at = static_cast<std::size_t>(label);
        if (at >= seen_.size()) seen_.resize(at + 1);
        seen_[at] = true;
      }
      if (label <= largest_ && !largest_place_.empty()) continue;
      largest_ = label;
      largest_place_ =
          fmt::format("{}, row {}", piece.y_place, piece.first_row + static_cast<std::int64_t>(i));
      continue;
    }
    throw Error(ExitCode::bad_data,
                fmt::format("{} has label {} in row {}, wanted 0 to {}: {}", piece.y_place, label,
                            piece.first_row + static_cast<std::int64_t>(i), classes - 1,
                            target_.classes && label >= 0 ? "correct --classes" : "correct the labels"));
  }
}

void ShardImport::check_finite(const ImportPiece& piece) const {
  const auto count = static_cast<std::int64_t>(piece.x.size() / size_of(form_.x));
  if (const auto bad = first_non_finite(form_.x, piece.x.data(), count)) {
    const std::int64_t elements = form_.sample_elements();
    throw Error(
        ExitCode::bad_data,
        fmt::format("{} has {} in row {}, number {} of {}, wanted finite numbers within float32: correct or "
                    "remove that sample",
                    piece.x_place, number_at(form_.x, piece.x.data(), *bad),
                    piece.first_row + *bad / elements, *bad % elements, elements));
  }
  const auto bad = std::find_if_not(piece.targets.begin(), piece.targets.end(),
                                    [](float value) { return std::isfinite(value); });
  if (bad != piece.targets.end()) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has {} in row {}, wanted a finite number within float32: correct or remove "
                            "that sample",
                            piece.y_place, *bad,
                            piece.first_row + (bad - piece.targets.begin()) / form_.target_width));
  }
}

void ShardImport::append(const ImportPiece& piece) {
  check_finite(piece);
  if (form_.target_width > 0) {
    writer_.append(piece.x, std::as_bytes(piece.targets));
  } else {
    check_labels(piece);
    if (form_.y == ElementType::u8) {
      y_.resize(piece.labels.size());
      std::transform(piece.labels.begin(), piece.labels.end(), y_.begin(),
                     [](std::int64_t label) { return static_cast<std::byte>(label); });
      writer_.append(piece.x, y_);
    } else {
      writer_.append(piece.x, std::as_bytes(piece.labels));
    }
  }
  moments_.add(piece.x);
}

std::int64_t ShardImport::classes_found() const {
  if (largest_ >= kMostClassesUnasked) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has label {}, which would make {} classes: if that is meant, give --classes",
                            largest_place_, largest_, largest_ + 1));
  }
  return largest_ + 1;
}

std::vector<std::int64_t> ShardImport::empty_classes(std::int64_t classes) const {
  std::vector<std::int64_t> empty;
  if (classes > kMostClassesUnasked) return empty;
  for (std::int64_t label = 0; label < classes; ++label) {
    const auto at = static_cast<std::size_t>(label);
    if (at >= seen_.size() || !seen_[at]) empty.push_back(label);
  }
  return empty;
}

Imported ShardImport::finish() {
  Imported result;
  result.samples = rows_;
  result.sample_shape = form_.sample_shape;
  result.target_width = form_.target_width;
  if (form_.target_width == 0) result.classes = target_.classes ? *target_.classes : classes_found();
  result.class_names = form_.names.classes;
  result.empty_classes = empty_classes(result.classes);
  result.scale = target_.scale.value_or(form_.x == ElementType::u8 ? 1.0 / 255 : 1.0);
  result.mean = moments_.mean();
  result.std = moments_.deviation();
  for (double& value : result.mean) value *= result.scale;
  for (double& value : result.std) {
    value *= std::abs(result.scale);
    // Numbers that are all the same have no spread to divide by.
    if (!(value > 0)) value = 1;
  }
  if (target_.mean) result.mean = *target_.mean;
  if (target_.std) result.std = *target_.std;

  if (!result.class_names.empty()) {
    std::string text;
    for (const std::string& name : result.class_names) text += name + "\n";
    writer_.add_text("classes.txt", text);
  }
  writer_.publish({result.scale, result.mean, result.std},
                  form_.target_width > 0 ? std::nullopt : std::optional(result.classes));
  return result;
}

}  // namespace lockstep::data
