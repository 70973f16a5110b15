#include "command/site_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "core/text.h"
#include "site/profile.h"

namespace lockstep::spank {

namespace {

constexpr std::size_t most_mistakes = 20;
constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

// The line that a message "FILE:LINE: ..." is about; 0: none.
std::size_t line_in(std::string_view message, const std::string& file) {
  message.remove_prefix(std::min(message.size(), file.size() + 1));
  return static_cast<std::size_t>(parse_int(message.substr(0, message.find(':'))).value_or(0));
}

// A line that makes no mistake where the wrong one stood and lets none follow from it: a profile begins, or
// has one more match, as a wrong key may have been meant.
std::string in_place_of(const std::vector<std::string>& lines, std::size_t index) {
  if (trim(lines[index]).starts_with('[')) return fmt::format("[profile line-{}]", index + 1);
  const bool in_profile = std::any_of(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(index),
                                      [](const std::string& line) { return trim(line).starts_with('['); });
  return in_profile ? "match = node:?*" : "";
}

std::optional<std::string> first_mistake(std::string_view text, const std::string& file) {
  try {
    parse_site_config(text, file);
    return std::nullopt;
  } catch (const SiteConfigError& error) {
    return error.what();
  }
}

}  // namespace

std::vector<std::string> mistakes_in_site_config(std::string_view text, const std::string& file) {
  std::vector<std::string> mistakes;
  if (text.starts_with(utf8_mark)) {
    mistakes.push_back(first_mistake(text, file).value_or(""));
    text.remove_prefix(utf8_mark.size());
  }
  std::vector<std::string> lines = split(text, '\n');
  std::size_t before = std::string_view::npos;
  while (mistakes.size() < most_mistakes) {
    const auto mistake = first_mistake(fmt::format("{}", fmt::join(lines, "\n")), file);
    if (!mistake) break;
    const std::size_t line = line_in(*mistake, file);
    // What is wrong with the same line again is not in the line, and all that follows would be guesses.
    if (line == before) break;
    mistakes.push_back(*mistake);
    if (line == 0 || line > lines.size()) break;
    lines[line - 1] = in_place_of(lines, line - 1);
    before = line;
  }
  return mistakes;
}

}  // namespace lockstep::spank
