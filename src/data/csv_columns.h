// What the columns of a CSV file are: which is the label, which are numbers to predict, which are passed
// over, and all others the sample.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/csv_reader.h"

namespace lockstep::data {

// What a user says about the columns. A column is its name in the first line, or else its number from 1.
struct CsvRoles {
  std::optional<std::string> label;
  std::vector<std::string> targets;
  std::vector<std::string> ignored;
  std::optional<bool> header;  // is the first line one of names? default: looked at
};

struct CsvColumns {
  std::vector<std::string> names;  // empty where the file has no line of names
  std::size_t count = 0;
  std::optional<std::size_t> label;
  std::vector<std::size_t> targets;
  std::vector<std::size_t> samples;

  bool header() const { return !names.empty(); }
  // The names of these columns; none where the file has no line of names.
  std::vector<std::string> names_of(const std::vector<std::size_t>& columns) const;
  // "column 3 (width)".
  std::string describe(std::size_t column) const;
};

// From the first record. Throws Error(usage) where a column is not there, has two roles, or nothing is left
// for the sample, and Error(bad_data) where a name is not UTF-8; `file` is named.
CsvColumns find_columns(const CsvRecord& first, const CsvRoles& roles, const std::string& file);

// For error texts, after "wanted ".
inline constexpr std::string_view utf8_wanted =
    "text in UTF-8: convert the file, say with iconv -f LATIN1 -t UTF-8";

// A finite decimal number within float32, blanks around it allowed; nothing where the text is something else.
std::optional<float> parse_csv_number(std::string_view text);

}  // namespace lockstep::data
