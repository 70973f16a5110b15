#include "data/csv_reader.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::data {

namespace {

constexpr std::size_t kBuffer = 1 << 15;
constexpr std::size_t kMostRecord = 64 << 20;  // a quote that never ends must not eat all memory
constexpr std::size_t kMostFields = 1 << 24;   // nor may a line of nothing but separators
constexpr int kEnd = -1;

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteInput> input, char separator)
    : input_(std::move(input)), separator_(separator), buffer_(kBuffer) {
  constexpr int mark[] = {0xef, 0xbb, 0xbf};
  const int first = peek();
  if (first == 0xfe || first == 0xff) fail(1, "it is UTF-16, wanted UTF-8: save it as UTF-8");
  if (first != mark[0]) return;
  for (const int wanted : mark) {
    if (get() != wanted) fail(1, "it begins with a damaged byte order mark, wanted UTF-8");
  }
}

void CsvReader::fail(std::int64_t line, const std::string& problem) const {
  throw Error(ExitCode::bad_data, fmt::format("{}:{}: {}", input_->name(), line, problem));
}

int CsvReader::peek() {
  if (at_ == end_) {
    at_ = 0;
    end_ = input_->read_some(buffer_);
    if (end_ == 0) return kEnd;
  }
  return buffer_[at_];
}

// A line end is always '\n', whether the file has LF or CRLF.
int CsvReader::get() {
  int c = peek();
  if (c == kEnd) return kEnd;
  ++at_;
  if (c == '\r' && peek() == '\n') {
    ++at_;
    c = '\n';
  }
  if (c == '\n') ++line_;
  if (c == 0) fail(line_, "it has a zero byte, wanted text: is it a CSV file in UTF-8?");
  return c;
}

void CsvReader::put(int c, std::int64_t begin) {
  if (text_.size() >= kMostRecord) {
    fail(begin, "the record that begins here is longer than 64 MiB: does a quote not end?");
  }
  text_ += static_cast<char>(c);
}

// After the opening quote, up to and with the closing one.
void CsvReader::read_quoted(std::int64_t begin) {
  for (int c = get();; c = get()) {
    if (c == kEnd) fail(begin, "a quote that is opened in the record that begins here does not end");
    if (c == '"') {
      if (peek() != '"') return;
      get();
    }
    put(c, begin);
  }
}

bool CsvReader::next(CsvRecord& record) {
  while (peek() == '\n' || peek() == '\r') get();
  if (peek() == kEnd) return false;
  text_.clear();
  ends_.clear();
  record.line = line_;
  bool at_start = true;  // of a field
  bool quoted = false;   // the field's quote has ended
  for (;;) {
    const std::int64_t line = line_;
    const int c = get();
    if (c == kEnd || c == '\n' || c == static_cast<unsigned char>(separator_)) {
      end_field();
      if (ends_.size() > kMostFields) {
        fail(record.line, fmt::format("the record that begins here has more than {} fields", kMostFields));
      }
      if (c == kEnd || c == '\n') break;
      at_start = true;
      quoted = false;
      continue;
    }
    if (quoted) fail(line, fmt::format("field {} goes on after its closing quote", ends_.size() + 1));
    if (c == '"') {
      if (!at_start) {
        fail(line,
             fmt::format("field {} has a quote in its middle, wanted the whole field in quotes and \"\" "
                         "for a quote",
                         ends_.size() + 1));
      }
      read_quoted(record.line);
      quoted = true;
    } else {
      put(c, record.line);
    }
    at_start = false;
  }
  record.fields.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    record.fields.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return true;
}

}  // namespace lockstep::data
