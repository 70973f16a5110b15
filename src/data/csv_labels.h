// The labels of a CSV file: collected in a first pass over it, turned into class numbers in a second.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/import_csv.h"

namespace lockstep::data {

class CsvClasses {
 public:
  // Where the split that this one belongs to has names of classes, these are the only ones that are known.
  CsvClasses(CsvLabels labels, const ImportTarget& target);

  // First pass. `where` is called for "FILE:LINE: column N" where something is wrong. Throws Error(bad_data).
  template <typename Where>
  void collect(std::string_view label, const Where& where) {
    if (const std::string problem = take(label); !problem.empty()) fail(where(), problem);
  }

  // Between the passes: decides what the labels are, and numbers the names.
  void decide();

  // Second pass: a class number from 0. Throws Error(bad_data).
  template <typename Where>
  std::int64_t number(std::string_view label, const Where& where) const {
    const std::int64_t found = find(label);
    if (found < 0) fail(where(), problem_of(label));
    return found;
  }

  const std::vector<std::string>& names() const { return names_; }  // empty where labels are numbers

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& problem);
  std::string take(std::string_view label);
  std::int64_t find(std::string_view label) const;
  std::string problem_of(std::string_view label) const;

  CsvLabels labels_;
  bool all_whole_ = true;
  bool known_ = false;  // the names come from another split
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::vector<std::string> names_;
};

}  // namespace lockstep::data
