// CSV text: read to the end or refused with its line, the same from a stream that comes byte by byte; and its
// columns are found or refused.
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/csv_columns.h"
#include "require.h"

using namespace lockstep;

extern "C" const char* const fuzz_dictionary[] = {
    ",", ";", "\"", "\"\"", "\n", "\r\n", "\r", "1.5", "-2e10", "nan", "a", "kind", "\xef\xbb\xbf", nullptr};

namespace {

class Drops : public data::ByteInput {
 public:
  explicit Drops(std::span<const std::uint8_t> bytes) : ByteInput("table.csv"), left_(bytes) {}

 private:
  std::size_t next(std::span<std::uint8_t> out) override {
    if (left_.empty() || out.empty()) return 0;
    out[0] = left_[0];
    left_ = left_.subspan(1);
    return 1;
  }
  std::span<const std::uint8_t> left_;
};

// Everything that comes of the text, its error too.
std::string outcome_of(std::unique_ptr<data::ByteInput> input) {
  std::string all;
  try {
    data::CsvReader reader(std::move(input), ',');
    data::CsvRecord record;
    std::int64_t last_line = 0;
    while (reader.next(record)) {
      require(!record.fields.empty());
      require(record.line > last_line);
      last_line = record.line;
      all += std::to_string(record.line);
      for (const std::string_view field : record.fields) {
        all += '|';
        all += field;
        if (const auto number = data::parse_csv_number(field)) require(*number == *number);
      }
      all += '\n';
    }
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_data);
    require_message(error.what(), "table.csv:");
    all += error.what();
  }
  return all;
}

void find_roles(std::span<const std::uint8_t> bytes) {
  try {
    data::CsvReader reader(data::memory_input("table.csv", bytes), ',');
    data::CsvRecord record;
    if (!reader.next(record)) return;
    const data::CsvRoles roles{"kind", {}, {"1"}, std::nullopt};
    const data::CsvColumns by_name = data::find_columns(record, roles, "table.csv");
    require(by_name.label && *by_name.label < by_name.count && !by_name.samples.empty());
    (void)data::find_columns(record, {"2", {}, {}, std::nullopt}, "table.csv");
  } catch (const Error& error) {
    require(error.code() == ExitCode::bad_data || error.code() == ExitCode::usage);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(data, size);
  require(outcome_of(data::memory_input("table.csv", bytes)) == outcome_of(std::make_unique<Drops>(bytes)));
  find_roles(bytes);
  return 0;
}
