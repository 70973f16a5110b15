// Text from outside (files, environments, names of devices) on its way to a terminal or a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::spank {

// ASCII, blank included. All else may steer a terminal, UTF-8 too: U+009B begins an escape sequence, U+202E
// turns the writing round.
constexpr bool is_printable(char c) noexcept {
  return c >= ' ' && c <= '~';
}

constexpr char clean_char(char c) noexcept {
  return is_printable(c) ? c : '?';
}

bool is_printable(std::string_view text);

// Each byte that is not printable as '?'; of a text longer than `most` bytes its beginning and "...", `most`
// bytes in all (at least 3).
std::string clean_text(std::string_view text, std::size_t most = std::string_view::npos);

}  // namespace lockstep::spank
