// Small text tools that several folders need.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// The parts between separators; an empty text has no part.
std::vector<std::string> split(std::string_view text, char separator);

std::string_view trim(std::string_view text);

// The text as one line: line breaks, and any of `also`, become `instead`.
std::string one_line(std::string_view text, char instead = ' ', std::string_view also = {});

// Lines of the form key=value; others are passed over, the last of a key counts.
std::map<std::string, std::string> parse_key_values(std::string_view text);

// Decimal, all of the text, no sign of anything else.
std::optional<std::int64_t> parse_int(std::string_view text);

// A decimal number, all of the text; nothing where it is none, or not finite.
std::optional<double> parse_double(std::string_view text);

// The candidate with the least edit distance to `word`, if it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// 1536 -> "1.5 KiB".
std::string human_bytes(double bytes);

// 3725 -> "1h02m", 65 -> "1m05s", 9 -> "9s".
std::string human_seconds(double seconds);

}  // namespace lockstep
