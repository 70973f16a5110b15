// Is a text JSON? A checker of the tests' own, which knows nothing of what writes it.
#pragma once

#include <cctype>
#include <string_view>

namespace test {

class JsonCheck {
 public:
  // Exactly one value, blanks around it allowed.
  static bool accepts(std::string_view text) {
    JsonCheck check(text);
    return check.value() && (check.blanks(), check.text_.empty());
  }

 private:
  explicit JsonCheck(std::string_view text) : text_(text) {}

  void blanks() {
    while (!text_.empty() && std::string_view(" \t\r\n").find(text_.front()) != std::string_view::npos)
      take(1);
  }
  void take(std::size_t count) { text_.remove_prefix(count); }
  bool literal(std::string_view wanted) {
    if (!text_.starts_with(wanted)) return false;
    take(wanted.size());
    return true;
  }
  bool digits() {
    const std::size_t before = text_.size();
    while (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_.front())) != 0) take(1);
    return text_.size() < before;
  }
  bool number() {
    literal("-");
    if (!digits()) return false;
    if (literal(".") && !digits()) return false;
    if (literal("e") || literal("E")) return (literal("+") || literal("-") || true) && digits();
    return true;
  }
  bool string() {
    if (!literal("\"")) return false;
    while (!text_.empty() && text_.front() != '"') {
      if (static_cast<unsigned char>(text_.front()) < 0x20) return false;
      if (literal("\\u")) {
        for (int i = 0; i < 4; ++i, take(1)) {
          if (text_.empty() || std::isxdigit(static_cast<unsigned char>(text_.front())) == 0) return false;
        }
      } else if (literal("\\")) {
        if (text_.empty() || std::string_view("\"\\/bfnrt").find(text_.front()) == std::string_view::npos)
          return false;
        take(1);
      } else {
        take(1);
      }
    }
    return literal("\"");
  }
  bool list(char open, char close, bool named) {
    if (!literal({&open, 1})) return false;
    blanks();
    if (literal({&close, 1})) return true;
    do {
      blanks();
      if (named && !(string() && (blanks(), literal(":")))) return false;
      if (!value()) return false;
      blanks();
    } while (literal(","));
    return literal({&close, 1});
  }
  bool value() {
    blanks();
    if (text_.empty()) return false;
    if (text_.front() == '{') return list('{', '}', true);
    if (text_.front() == '[') return list('[', ']', false);
    if (text_.front() == '"') return string();
    return literal("true") || literal("false") || literal("null") || number();
  }

  std::string_view text_;
};

}  // namespace test
