#include "site/in_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lockstep::spank {

namespace {

bool printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string in_quotes(std::string_view text, std::size_t limit) {
  std::string result = "'";
  for (const char c : text.substr(0, limit)) {
    if (printable(c)) {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result += text.size() > limit ? "...'" : "'";
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), printable);
}

}  // namespace lockstep::spank
