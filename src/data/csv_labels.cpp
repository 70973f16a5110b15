#include "data/csv_labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/utf8.h"
#include "data/csv_columns.h"

namespace lockstep::data {

namespace {

// Beyond it a column of labels is more likely one of free text, or of numbers to predict.
constexpr std::size_t kMostNames = 65536;

constexpr std::size_t kMostBytes = 1000;  // of one name

// Older shards have their names in classes.txt alone.
std::vector<std::string> known_names(const ImportTarget& target) {
  if (!target.like_names.classes.empty() || target.like.empty()) return target.like_names.classes;
  std::vector<std::string> names;
  for (const std::string& name : split(read_text(target.like / "classes.txt").value_or(""), '\n')) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

}  // namespace

CsvClasses::CsvClasses(CsvLabels labels, const ImportTarget& target) : labels_(labels) {
  if (labels == CsvLabels::from_zero || labels == CsvLabels::from_one) return;
  names_ = known_names(target);
  if (names_.empty()) return;
  known_ = true;
  labels_ = CsvLabels::names;
  for (std::size_t i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], static_cast<std::int64_t>(i));
}

void CsvClasses::fail(const std::string& where, const std::string& problem) {
  throw Error(ExitCode::bad_data, where + problem);
}

std::string CsvClasses::take(std::string_view label) {
  label = trim(label);
  if (label.empty()) return " is empty, wanted a label";
  if (!is_utf8(label)) return fmt::format(" is \"{}\", wanted {}", shown(label), utf8_wanted);
  if (known_ || labels_ == CsvLabels::from_zero || labels_ == CsvLabels::from_one) return "";
  if (std::any_of(label.begin(), label.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; })) {
    return " has a label with a line end or another control character, wanted a name of one line";
  }
  if (label.size() > kMostBytes) {
    return fmt::format(" has {} bytes, wanted a label of at most {}", label.size(), kMostBytes);
  }
  const auto whole = parse_int(label);
  all_whole_ = all_whole_ && whole && *whole >= 0;
  // Numbers may be many: as names they are kept only as long as they may have to be names.
  if (all_whole_ && numbers_.size() >= kMostNames) return "";
  if (numbers_.find(label) == numbers_.end()) numbers_.emplace(std::string(label), 0);
  if (!all_whole_ && numbers_.size() > kMostNames) {
    return fmt::format(" has more than {} different labels: are these numbers to predict? Then give --target",
                       kMostNames);
  }
  return "";
}

void CsvClasses::decide() {
  if (known_) return;
  if (labels_ == CsvLabels::automatic) labels_ = all_whole_ ? CsvLabels::from_zero : CsvLabels::names;
  if (labels_ != CsvLabels::names) return;
  for (auto& [name, number] : numbers_) {
    number = static_cast<std::int64_t>(names_.size());
    names_.push_back(name);
  }
}

std::int64_t CsvClasses::find(std::string_view label) const {
  label = trim(label);
  if (labels_ == CsvLabels::names) {
    const auto at = numbers_.find(label);
    return at == numbers_.end() ? -1 : at->second;
  }
  const auto number = parse_int(label);
  if (!number || *number < 0) return -1;
  return labels_ == CsvLabels::from_one ? *number - 1 : *number;
}

std::string CsvClasses::problem_of(std::string_view label) const {
  const std::string seen = fmt::format(" is \"{}\", wanted ", shown(label));
  if (known_) return seen + "a class of the split that --normalise-from names (classes.txt there)";
  if (labels_ == CsvLabels::names) return seen + "a label that was there when the file was read before";
  return seen + fmt::format("a class number from {} on; for names give --label-form=names",
                            labels_ == CsvLabels::from_one ? 1 : 0);
}

}  // namespace lockstep::data
