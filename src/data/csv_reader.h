// CSV text as RFC 4180 describes it, one record after the other: quotes, commas and line ends within quotes,
// LF or CRLF, a byte order mark in front. Empty lines are passed over.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_input.h"

namespace lockstep::data {

struct CsvRecord {
  std::vector<std::string_view> fields;  // without their quotes; last until the next record is read
  std::int64_t line = 0;                 // where it begins, from 1
};

class CsvReader {
 public:
  CsvReader(std::unique_ptr<ByteInput> input, char separator);

  // The next record; false at the end. Throws Error(bad_data) naming file and line.
  bool next(CsvRecord& record);

 private:
  int get();
  int peek();
  void read_quoted(std::int64_t begin);
  void end_field() { ends_.push_back(text_.size()); }
  void put(int c, std::int64_t begin);
  [[noreturn]] void fail(std::int64_t line, const std::string& problem) const;

  std::unique_ptr<ByteInput> input_;
  char separator_;
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::int64_t line_ = 1;
  std::string text_;               // of the record's fields
  std::vector<std::size_t> ends_;  // of each field in it
};

}  // namespace lockstep::data
