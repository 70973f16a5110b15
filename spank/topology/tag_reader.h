// The tags of a topology file, cut out by the rules of NCCL's own reader. They are not those of XML: a tab
// between tags is an error, a line break inside a tag is an error, and `<!--a=b-->` is one as well.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::spank {

// What makes NCCL give up on the file. The text says what and in which line.
class TagError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Tag {
  enum class Kind { open, close, single };
  Kind kind = Kind::open;
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // the first 16; NCCL drops the others
  int line = 0;
};

class TagReader {
 public:
  // `text` must outlive the reader.
  explicit TagReader(std::string_view text) : text_(text) {}

  // The next tag, comments left out; nothing at the end of the text. Throws TagError.
  std::optional<Tag> next();

  [[noreturn]] void fail(const std::string& what) const;

 private:
  char take();
  char read_token(std::string& name, std::string* value);
  char read_value(std::string& value);
  void read_attributes(Tag& tag, char last);
  void skip_comment(std::string_view begun);
  bool skip_blanks();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace lockstep::spank
