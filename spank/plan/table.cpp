#include "plan/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "step/clean_text.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t least_reason = 30;  // columns

// Breaks at blanks; a longer word stays whole.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

// What files and environments hold may be anything: it stays within bounds.
constexpr std::size_t most_of_name = 60;
constexpr std::size_t most_of_value = 400;
constexpr std::size_t most_of_reason = 1000;

struct Row {
  std::string variable, value, origin, reason;
};

Row row_of(const Decision& decision) {
  return {clean_text(decision.variable, most_of_name),
          clean_text(decision.value ? *decision.value : "(not set)", most_of_value),
          clean_text(decision.origin, most_of_name), clean_text(decision.reason, most_of_reason)};
}

struct Widths {
  std::size_t variable = 8;
  std::size_t value = 5;
  std::size_t origin = 4;
};

// A long value gets lines of its own instead of pushing all others to the right.
constexpr std::size_t longest_value = 32;

Widths widths_of(const std::vector<Row>& rows) {
  Widths widths;
  for (const Row& row : rows) {
    widths.variable = std::max(widths.variable, row.variable.size());
    if (row.value.size() <= longest_value) widths.value = std::max(widths.value, row.value.size());
    widths.origin = std::max(widths.origin, row.origin.size());
  }
  return widths;
}

}  // namespace

std::vector<std::string> table_of(const Plan& plan, std::size_t width) {
  std::vector<Row> rows;
  for (const Decision& decision : plan.decisions) rows.push_back(row_of(decision));
  const Widths widths = widths_of(rows);
  const std::size_t indent = widths.variable + widths.value + widths.origin + 6;
  const std::size_t room = std::max(least_reason, width > indent ? width - indent : 0);
  const auto line = [&](const std::string& variable, const std::string& value, const std::string& origin,
                        const std::string& reason) {
    std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {}", variable, widths.variable, value,
                                   widths.value, origin, widths.origin, reason);
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::vector<std::string> lines = {line("VARIABLE", "VALUE", "FROM", "WHY")};
  for (const Row& row : rows) {
    const std::vector<std::string> reason = wrap(row.reason, room);
    if (row.value.size() > widths.value) {
      lines.push_back(fmt::format("{:<{}}  {}", row.variable, widths.variable, row.value));
      lines.push_back(line("", "", row.origin, reason.front()));
    } else {
      lines.push_back(line(row.variable, row.value, row.origin, reason.front()));
    }
    for (std::size_t i = 1; i < reason.size(); ++i) lines.push_back(line("", "", "", reason[i]));
  }
  return lines;
}

std::string line_of(const Finding& finding) {
  const char* severity = finding.severity == Finding::Severity::problem ? "problem" : "advice";
  return clean_text(fmt::format("{}: {}; {}", severity, finding.text, finding.remedy));
}

}  // namespace lockstep::spank
