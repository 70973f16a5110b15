#include "core/utf8.h"

#include <algorithm>

namespace lockstep {

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) >= 0xC0) return 0;
  }
  const bool wrong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) >= 0xA0) ||
                     (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) >= 0x90);
  return wrong ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  constexpr unsigned char first_printable = 0x20;
  constexpr unsigned char del = 0x7F;
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (result.size() + length > most) return result + "...";
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      result += "\xEF\xBF\xBD";
    } else if (c < first_printable || c == del) {
      result += ' ';
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return result;
}

}  // namespace lockstep
