// As much of the library fmt as src/core and src/device use, for machines where it is not installed: `{}` and
// the fields {:.Nf}, {:0N}, {:0Nx}, {:x}. Only test/gpu/build_ops puts this folder on the compiler's path.
#pragma once

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fmt {

namespace without {

using Write = std::string (*)(const void* value, std::string_view field);

struct Argument {
  const void* value;
  Write write;
};

template <typename T>
std::string write(const void* value, std::string_view field) {
  std::ostringstream out;
  out << std::boolalpha;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const char c = field[i];
    if (c == '0') out.fill('0');
    if (c >= '1' && c <= '9') out.width(c - '0');
    if (c == '.' && i + 1 < field.size()) out.precision(field[++i] - '0');
    if (c == 'f') out << std::fixed;
    if (c == 'x') out << std::hex;
  }
  out << *static_cast<const T*>(value);
  return out.str();
}

inline std::string format(std::string_view text, const std::vector<Argument>& arguments) {
  std::string result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '}' || (text[i] == '{' && text.substr(i, 2) == "{{")) {
      result += text[i++];  // doubled
    } else if (text[i] == '{') {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos || next == arguments.size()) throw std::logic_error("bad format");
      const std::string_view inside = text.substr(i + 1, end - i - 1);
      const std::size_t colon = inside.find(':');
      std::size_t index = next;
      if (!inside.empty() && inside[0] != ':') {
        index = static_cast<std::size_t>(inside[0] - '0');  // {0}: by number
      } else {
        ++next;
      }
      const Argument& argument = arguments.at(index);
      result += argument.write(
          argument.value, colon == std::string_view::npos ? std::string_view() : inside.substr(colon + 1));
      i = end;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace without

template <typename... T>
std::string format(std::string_view text, const T&... values) {
  return without::format(text, {without::Argument{&values, &without::write<T>}...});
}

}  // namespace fmt
