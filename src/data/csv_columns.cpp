#include "data/csv_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace lockstep::data {

namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ExitCode::usage, text);
}

// "a, b, c, ... (120 columns)".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) some.push_back(shown(names[i]));
  if (names.size() <= most) return fmt::format("{}", fmt::join(some, ", "));
  return fmt::format("{}, ... ({} columns)", fmt::join(some, ", "), names.size());
}

std::size_t find_column(const std::string& wanted, const CsvColumns& columns, const std::string& file) {
  const auto same = std::count(columns.names.begin(), columns.names.end(), wanted);
  if (same > 1) refuse(fmt::format("{} has {} columns {}: give the column's number", file, same, wanted));
  if (same == 1) {
    return static_cast<std::size_t>(std::find(columns.names.begin(), columns.names.end(), wanted) -
                                    columns.names.begin());
  }
  const auto number = parse_int(wanted);
  if (number && *number >= 1 && *number <= static_cast<std::int64_t>(columns.count)) {
    return static_cast<std::size_t>(*number - 1);
  }
  if (number) {
    refuse(fmt::format("{} has no column {}, wanted 1 to {}: is --separator right?", file, wanted,
                       columns.count));
  }
  const auto near = nearest(wanted, columns.names);
  refuse(fmt::format("{} has no column {}{}; it has: {}", file, wanted,
                     near ? fmt::format(", did you mean {}?", shown(*near)) : "", list_of(columns.names)));
}

bool is_number(const std::string& text) {
  return parse_int(text).has_value();
}

// Does any role name a column by something else than a number?
bool names_are_used(const CsvRoles& roles) {
  const auto all_numbers = [](const std::vector<std::string>& columns) {
    return std::all_of(columns.begin(), columns.end(), is_number);
  };
  return (roles.label && !is_number(*roles.label)) || !all_numbers(roles.targets) ||
         !all_numbers(roles.ignored);
}

void assign_roles(CsvColumns& columns, const CsvRoles& roles, const std::string& file) {
  std::vector<bool> taken(columns.count, false);
  const auto take = [&](const std::string& wanted) {
    const std::size_t column = find_column(wanted, columns, file);
    if (taken[column]) refuse(fmt::format("{}: {} is given twice", file, columns.describe(column)));
    taken[column] = true;
    return column;
  };
  columns.label.reset();
  columns.targets.clear();
  columns.samples.clear();
  if (roles.label) columns.label = take(*roles.label);
  for (const std::string& target : roles.targets) columns.targets.push_back(take(target));
  for (const std::string& ignored : roles.ignored) take(ignored);
  for (std::size_t i = 0; i < columns.count; ++i) {
    if (!taken[i]) columns.samples.push_back(i);
  }
  if (columns.samples.empty()) {
    refuse(fmt::format("{} has {} columns, and none is left for the sample: is --separator right?", file,
                       columns.count));
  }
}

// The first line is one of names where none of the sample's fields is a number.
bool looks_like_names(const CsvRecord& first, const CsvColumns& columns, const std::string& file) {
  std::size_t numbers = 0;
  std::size_t other = 0;
  for (const std::size_t column : columns.samples) {
    if (parse_csv_number(first.fields[column])) {
      ++numbers;
    } else {
      other = column;
    }
  }
  if (numbers == 0) return true;
  if (numbers == columns.samples.size()) return false;
  refuse(
      fmt::format("{}:{}: the first line has numbers, but column {} is \"{}\": are these names "
                  "(--header=yes), or is that a fault (--header=no)?",
                  file, first.line, other + 1, shown(first.fields[other])));
}

void take_names(CsvColumns& columns, const CsvRecord& first, const std::string& file) {
  constexpr std::size_t most = 1000;  // bytes of one name
  for (const std::string_view field : first.fields) {
    const std::string_view name = trim(field);
    const auto refuse_name = [&](const std::string& problem) {
      throw Error(ExitCode::bad_data, fmt::format("{}:{}: the name of column {} {}", file, first.line,
                                                  columns.names.size() + 1, problem));
    };
    if (!is_utf8(name)) refuse_name(fmt::format("is \"{}\", wanted {}", shown(name), utf8_wanted));
    if (name.size() > most) {
      refuse_name(
          fmt::format("has {} bytes, wanted at most {}: is the first line one of names (--header=no)?",
                      name.size(), most));
    }
    columns.names.emplace_back(name);
  }
}

}  // namespace

std::optional<float> parse_csv_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(std::abs(value) <= std::numeric_limits<float>::max())) return std::nullopt;
  return static_cast<float>(value);
}

std::vector<std::string> CsvColumns::names_of(const std::vector<std::size_t>& columns) const {
  std::vector<std::string> result;
  if (!header()) return result;
  for (const std::size_t column : columns) result.push_back(names[column]);
  return result;
}

std::string CsvColumns::describe(std::size_t column) const {
  return header() ? fmt::format("column {} ({})", column + 1, shown(names[column]))
                  : fmt::format("column {}", column + 1);
}

CsvColumns find_columns(const CsvRecord& first, const CsvRoles& roles, const std::string& file) {
  CsvColumns columns;
  columns.count = first.fields.size();
  bool header = roles.header.value_or(names_are_used(roles));
  if (!roles.header && !header) {
    assign_roles(columns, roles, file);
    header = looks_like_names(first, columns, file);
  }
  if (header) take_names(columns, first, file);
  assign_roles(columns, roles, file);
  return columns;
}

}  // namespace lockstep::data
