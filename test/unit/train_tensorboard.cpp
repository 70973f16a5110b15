// Event files are read back by a parser of the tests' own: its checksum goes bit by bit, its messages byte by
// byte.
#include "train/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/files.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

std::uint32_t masked(std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

struct Reader {
  std::string_view left;

  std::string_view take(std::size_t count) {
    if (count > left.size()) throw std::runtime_error("cut off");
    const std::string_view part = left.substr(0, count);
    left.remove_prefix(count);
    return part;
  }
  template <typename T>
  T plain() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
};

// The fields of a message, by number; numbers of any kind as their bytes.
std::multimap<std::uint64_t, std::string> fields(std::string_view message) {
  std::multimap<std::uint64_t, std::string> result;
  Reader reader{message};
  while (!reader.left.empty()) {
    const std::uint64_t key = reader.varint();
    std::string value;
    switch (key & 7) {
      case 0:
        value = std::to_string(reader.varint());
        break;
      case 1:
        value = reader.take(8);
        break;
      case 2:
        value = reader.take(reader.varint());
        break;
      case 5:
        value = reader.take(4);
        break;
      default:
        throw std::runtime_error("unknown wire type");
    }
    result.emplace(key >> 3, value);
  }
  return result;
}

struct Event {
  double wall = 0;
  long step = 0;
  std::string version;
  bool restart = false;
  std::map<std::string, float> scalars;
};

std::vector<Event> events_of(const std::filesystem::path& file) {
  const std::string data = read_text(file).value();
  std::vector<Event> events;
  Reader reader{data};
  while (!reader.left.empty()) {
    const std::string_view length = reader.left.substr(0, 8);
    const auto bytes = reader.plain<std::uint64_t>();
    if (reader.plain<std::uint32_t>() != masked(length)) throw std::runtime_error("checksum of a length");
    const std::string_view message = reader.take(bytes);
    if (reader.plain<std::uint32_t>() != masked(message)) throw std::runtime_error("checksum of a message");
    Event event;
    for (const auto& [number, value] : fields(message)) {
      if (number == 1) event.wall = Reader{value}.plain<double>();
      if (number == 2) event.step = std::stol(value);
      if (number == 3) event.version = value;
      if (number == 7) event.restart = fields(value).find(1)->second == "1";
      if (number != 5) continue;
      for (const auto& [one, scalar] : fields(value)) {
        CHECK(one == 1);
        const auto parts = fields(scalar);
        event.scalars[parts.find(1)->second] = Reader{parts.find(2)->second}.plain<float>();
      }
    }
    events.push_back(event);
  }
  return events;
}

std::set<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
  return files;
}

void fail_on_warning(const std::string& text) {
  FAIL(text);
}

}  // namespace

TEST_CASE("the tests' checksum is CRC-32C", "[train]") {
  CHECK(crc32c("123456789") == 0xE3069283U);
}

TEST_CASE("an event file reads back what was written", "[train]") {
  const TempFolder folder;
  const auto run = folder / "tensorboard";
  const std::string long_tag(300, 't');
  {
    TensorBoard board(run, "n0.12.0", 0, fail_on_warning);
    board.add(1, std::array{Scalar{"train/loss", 2.5}, Scalar{"train/accuracy", 0.125}});
    board.add(300, std::array{Scalar{long_tag, -1e30}});
  }
  REQUIRE(files_in(run).size() == 1);
  const auto events = events_of(*files_in(run).begin());
  REQUIRE(events.size() == 4);
  CHECK(events[0].version == "brain.Event:2");
  CHECK(events[0].wall > 1.6e9);
  // From step 1 on, what earlier files may hold is undone.
  CHECK((events[1].restart && events[1].step == 1));
  CHECK(events[2].step == 1);
  CHECK(events[2].scalars == std::map<std::string, float>{{"train/loss", 2.5F}, {"train/accuracy", 0.125F}});
  CHECK(events[3].step == 300);
  CHECK(events[3].scalars == std::map<std::string, float>{{long_tag, -1e30F}});
}

TEST_CASE("numbers that a run does not have are left out", "[train]") {
  const TempFolder folder;
  const double none = std::numeric_limits<double>::quiet_NaN();
  {
    TensorBoard board(folder.path(), "n0.12.0", 0, fail_on_warning);
    board.add(1, std::array{Scalar{"loss", 1}, Scalar{"accuracy", none}});
    board.add(2, std::array{Scalar{"accuracy", none}});
  }
  const auto events = events_of(*files_in(folder.path()).begin());
  REQUIRE(events.size() == 3);
  CHECK(events[2].scalars == std::map<std::string, float>{{"loss", 1.F}});
}

TEST_CASE("each attempt has a file, later ones later in order of names, and undoes what it does again",
          "[train]") {
  const TempFolder folder;
  for (const int step : {0, 40, 20}) {
    TensorBoard board(folder.path(), fmt::format("{}.local", "zyx"[step / 20]), step, fail_on_warning);
    board.add(step + 1, std::array{Scalar{"loss", 0.5 * step}});
  }
  const auto files = files_in(folder.path());
  REQUIRE(files.size() == 3);
  std::vector<long> restarts;
  for (const auto& file : files) restarts.push_back(events_of(file)[1].step);
  // The point of the step that a run resumes from stays.
  CHECK(restarts == std::vector<long>{1, 41, 21});
}

TEST_CASE("what is flushed is in the file before the end", "[train]") {
  const TempFolder folder;
  TensorBoard board(folder.path(), "n0.12.0", 0, fail_on_warning);
  const auto file = *files_in(folder.path()).begin();
  const auto before = std::filesystem::file_size(file);
  board.add(1, std::array{Scalar{"loss", 1}});
  CHECK(std::filesystem::file_size(file) == before);
  board.flush();
  CHECK(events_of(file).back().scalars.at("loss") == 1);
}

TEST_CASE("a folder that cannot be written costs one warning and nothing else", "[train]") {
  const TempFolder folder;
  write_atomically(folder / "file", "");
  std::vector<std::string> warnings;
  {
    TensorBoard board(folder / "file", "n0.12.0", 0,
                      [&](const std::string& text) { warnings.push_back(text); });
    board.add(1, std::array{Scalar{"loss", 1}});
    board.go_back_to(0);
    board.flush();
  }
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("training goes on") != std::string::npos);
}
