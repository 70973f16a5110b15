// As format.h: of fmt/ranges.h what src/device uses.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

namespace fmt {

template <typename Range>
std::string join(const Range& range, std::string_view between) {
  std::ostringstream out;
  bool first = true;
  for (const auto& element : range) {
    if (!first) out << between;
    out << element;
    first = false;
  }
  return out.str();
}

}  // namespace fmt
