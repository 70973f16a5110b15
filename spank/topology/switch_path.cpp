#include "topology/switch_path.h"

#include <algorithm>

namespace lockstep::spank {

namespace {

// The first part of `rest`, which is cut off it together with its dot; a dot in brackets is part of a name.
std::string_view cut_level(std::string_view& rest) {
  bool in_brackets = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '[') in_brackets = true;
    if (rest[i] == ']') in_brackets = false;
    if (rest[i] != '.' || in_brackets) continue;
    const std::string_view level = rest.substr(0, i);
    rest.remove_prefix(i + 1);
    return level;
  }
  return {};
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '/'; });
}

}  // namespace

// From the left, since a node's name may have dots of its own.
std::string switch_path(std::string_view address, std::string_view pattern) {
  if (pattern != "node" && !pattern.ends_with(".node")) return {};
  std::string path;
  for (auto levels = std::count(pattern.begin(), pattern.end(), '.'); levels > 0; --levels) {
    const std::string_view level = cut_level(address);
    if (level.empty() || !is_plain(level)) return {};
    if (!path.empty()) path += '/';
    path += level;
  }
  return address.empty() ? std::string() : path;
}

}  // namespace lockstep::spank
