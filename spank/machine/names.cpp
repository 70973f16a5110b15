#include "machine/names.h"

#include <algorithm>

#include "core/text.h"

namespace lockstep::spank {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The number that the text begins with, without leading zeros, cut off from the text.
std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool natural_less(std::string_view left, std::string_view right) {
  const std::string_view whole_left = left;
  const std::string_view whole_right = right;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view a = take_number(left);
      const std::string_view b = take_number(right);
      if (a.size() != b.size()) return a.size() < b.size();
      if (a != b) return a < b;
    } else {
      if (left.front() != right.front()) return left.front() < right.front();
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  if (left.empty() != right.empty()) return left.empty();
  return whole_left < whole_right;  // they differ in leading zeros at most
}

bool is_bus_id(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3 || parts[2].size() != 4 || parts[2][2] != '.') return false;
  return parts[0].size() >= 4 && parts[0].size() <= 8 && is_hex(parts[0]) && parts[1].size() == 2 &&
         is_hex(parts[1]) && is_hex(parts[2].substr(0, 2)) && is_hex(parts[2].substr(3));
}

std::vector<std::string> bus_ids_in(std::string_view path) {
  std::vector<std::string> ids = split(path, '/');
  std::erase_if(ids, [](const std::string& part) { return !is_bus_id(part); });
  return ids;
}

}  // namespace lockstep::spank
