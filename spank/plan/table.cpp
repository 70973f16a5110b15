#include "plan/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

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

std::string value_of(const Decision& decision) {
  return decision.value ? *decision.value : "(not set)";
}

struct Widths {
  std::size_t variable = 8;
  std::size_t value = 5;
  std::size_t origin = 4;
};

// A long value gets lines of its own instead of pushing all others to the right.
constexpr std::size_t longest_value = 32;

Widths widths_of(const Plan& plan) {
  Widths widths;
  for (const Decision& decision : plan.decisions) {
    widths.variable = std::max(widths.variable, decision.variable.size());
    const std::size_t value = value_of(decision).size();
    if (value <= longest_value) widths.value = std::max(widths.value, value);
    widths.origin = std::max(widths.origin, decision.origin.size());
  }
  return widths;
}

}  // namespace

std::vector<std::string> table_of(const Plan& plan, std::size_t width) {
  const Widths widths = widths_of(plan);
  const std::size_t indent = widths.variable + widths.value + widths.origin + 6;
  const std::size_t room = std::max(least_reason, width > indent ? width - indent : 0);
  const auto row = [&](const std::string& variable, const std::string& value, const std::string& origin,
                       const std::string& reason) {
    std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {}", variable, widths.variable, value,
                                   widths.value, origin, widths.origin, reason);
    text.resize(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::vector<std::string> lines = {row("VARIABLE", "VALUE", "FROM", "WHY")};
  for (const Decision& decision : plan.decisions) {
    std::string value = value_of(decision);
    const std::vector<std::string> reason = wrap(decision.reason, room);
    if (value.size() > widths.value) {
      lines.push_back(fmt::format("{:<{}}  {}", decision.variable, widths.variable, value));
      lines.push_back(row("", "", decision.origin, reason.front()));
    } else {
      lines.push_back(row(decision.variable, value, decision.origin, reason.front()));
    }
    for (std::size_t i = 1; i < reason.size(); ++i) lines.push_back(row("", "", "", reason[i]));
  }
  return lines;
}

std::string line_of(const Finding& finding) {
  return fmt::format("{}: {}; {}", finding.severity == Finding::Severity::problem ? "problem" : "advice",
                     finding.text, finding.remedy);
}

}  // namespace lockstep::spank
