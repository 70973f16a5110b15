#include "site/in_quotes.h"

#include <fmt/format.h>

#include <iterator>

namespace lockstep::spank {

std::string in_quotes(std::string_view text, std::size_t limit) {
  std::string result = "'";
  for (const char c : text.substr(0, limit)) {
    if (is_printable(c)) {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result += text.size() > limit ? "...'" : "'";
}

}  // namespace lockstep::spank
