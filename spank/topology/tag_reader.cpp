#include "topology/tag_reader.h"

#include <fmt/format.h>

namespace lockstep::spank {

namespace {

// Known from NCCL 2.30, src/graph/xml.h: a buffer of 255 characters. The character that ends a name, and the
// quote that ends a value, pass through it too.
constexpr std::size_t buffer_size = 255;
constexpr std::size_t max_attributes = 16;

// NCCL handles names and values as C strings.
std::string c_string(std::string_view text) {
  return std::string(text.substr(0, text.find('\0')));
}

bool ends_name(char c) {
  return c == ' ' || c == '>' || c == '/' || c == '\n' || c == '\r';
}

std::string shown(char c) {
  if (c == '\t') return "a tab";
  if (c == '\n' || c == '\r') return "a line break";
  if (c > ' ' && c < '\x7f') return fmt::format("'{}'", c);
  return fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(c));
}

}  // namespace

void TagReader::fail(const std::string& what) const {
  throw TagError(fmt::format("line {}: {}", line_, what));
}

char TagReader::take() {
  if (at_ == text_.size()) fail("the file ends inside a tag");
  const char c = text_[at_++];
  if (c == '\n') ++line_;
  return c;
}

char TagReader::read_token(std::string& name, std::string* value) {
  const std::size_t begin = at_;
  for (;;) {
    const char c = take();
    if (c == '=') {
      if (value == nullptr) fail("'=' in the name of a tag, or in the first word of a comment");
      name = c_string(text_.substr(begin, at_ - 1 - begin));
      return read_value(*value);
    }
    if (at_ - begin >= buffer_size) fail("a name of more than 253 characters");
    if (ends_name(c)) {
      name = c_string(text_.substr(begin, at_ - 1 - begin));
      return c;
    }
  }
}

// NCCL has taken single quotes only since about 2.28; before, it read on to the next double quote.
char TagReader::read_value(std::string& value) {
  const char quote = take();
  if (quote != '"' && quote != '\'') fail("a value that is not in quotes");
  const std::size_t begin = at_;
  for (;;) {
    const char c = take();
    if (at_ - begin >= buffer_size) fail("a value of more than 253 characters");
    if (c == quote) break;
  }
  value = c_string(text_.substr(begin, at_ - 1 - begin));
  return take();
}

void TagReader::skip_comment(std::string_view begun) {
  std::string last_three = "...";
  const auto push = [&](char c) { last_three = {last_three[1], last_three[2], c}; };
  for (const char c : begun) push(c);
  while (last_three != "-->") {
    if (at_ == text_.size()) fail("the file ends inside a comment");
    push(take());
  }
}

bool TagReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r')) take();
  return at_ < text_.size();
}

// A blank begins an attribute, even if none follows: two blanks in a row make one without a name, which
// counts.
void TagReader::read_attributes(Tag& tag, char last) {
  while (last == ' ') {
    std::string key;
    std::string value;
    last = read_token(key, &value);
    if (tag.attributes.size() < max_attributes) tag.attributes.emplace_back(std::move(key), std::move(value));
  }
  if (last == '/') {
    tag.kind = Tag::Kind::single;
    std::string ignored;
    last = read_token(ignored, nullptr);
  }
  if (last == '>') return;
  if (tag.name.starts_with('?')) fail("an XML prolog (<?xml ...?>), which NCCL cannot read; take it out");
  fail(fmt::format("{} in <{}>, where '>' must be", shown(last), tag.name));
}

std::optional<Tag> TagReader::next() {
  while (skip_blanks()) {
    Tag tag;
    tag.line = line_;
    if (const char c = take(); c != '<') fail(fmt::format("{} where a tag must begin", shown(c)));
    const char last = read_token(tag.name, nullptr);
    if (tag.name.starts_with("!--")) {
      skip_comment(tag.name.substr(3) + last);
      continue;
    }
    if (tag.name.empty() && last == '/') {
      tag.kind = Tag::Kind::close;
      if (read_token(tag.name, nullptr) != '>') fail(fmt::format("more than a name in </{}>", tag.name));
      return tag;
    }
    read_attributes(tag, last);
    return tag;
  }
  return std::nullopt;
}

}  // namespace lockstep::spank
