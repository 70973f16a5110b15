#include "data/npy_header.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/text.h"

namespace lockstep::data {

namespace {

// Reads the few forms of Python's literals that NumPy writes here.
class Literal {
 public:
  Literal(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ExitCode::bad_data,
                fmt::format("{} has a damaged NPY header: {}; get the file again", place_, problem));
  }

  // Is this the next character that is no blank? Then it is taken.
  bool take(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(fmt::format("no '{}' at byte {}", wanted, at_));
  }

  char next() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail(fmt::format("no text in quotes at byte {}", at_));
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a text in quotes does not end");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    for (const char c : value) {
      if (c < ' ' || c > '~' || c == '\\') fail("a text in quotes has characters that NumPy does not write");
    }
    at_ = end + 1;
    return std::string(value);
  }

  bool boolean() {
    const std::string name = word();
    if (name != "True" && name != "False") fail(fmt::format("fortran_order is neither True nor False"));
    return name == "True";
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      std::string digits = word();
      if (digits.ends_with('L')) digits.pop_back();  // NumPy of Python 2
      const auto number = parse_int(digits);
      if (!number || *number < 0) fail("shape has something else than whole numbers");
      numbers.push_back(*number);
      if (!take(',') && next() != ')') fail("shape does not end");
    }
    return numbers;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  std::string word() {
    skip_blanks();
    const std::size_t begin = at_;
    const auto of_word = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    while (at_ < text_.size() && of_word(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& place) {
  NpyHeader header;
  std::set<std::string> seen;
  Literal literal(text, place);
  literal.expect('{');
  while (!literal.take('}')) {
    const std::string key = literal.string();
    literal.expect(':');
    if (key == "descr") {
      if (literal.next() == '[') {
        throw Error(ExitCode::bad_data,
                    fmt::format("{} has a structured type, records with named fields, wanted plain numbers: "
                                "save one field, numpy.save('x.npy', array['name'])",
                                place));
      }
      header.descr = literal.string();
    } else if (key == "fortran_order") {
      header.fortran_order = literal.boolean();
    } else if (key == "shape") {
      header.shape = literal.tuple();
    } else {
      literal.fail(fmt::format("unknown key '{}'", key));
    }
    if (!seen.insert(key).second) literal.fail(fmt::format("key '{}' is there twice", key));
    if (!literal.take(',') && literal.next() != '}') literal.fail("it does not end");
  }
  if (literal.next() != '\0') literal.fail("something follows its end");
  for (const char* key : {"descr", "fortran_order", "shape"}) {
    if (!seen.contains(key)) literal.fail(fmt::format("it has no {}", key));
  }
  return header;
}

}  // namespace lockstep::data
