#include <catch2/catch.hpp>

#include "checkpoint/folder.h"
#include "checkpoint/seal.h"
#include "checkpoint/slabs.h"
#include "core/error.h"
#include "core/hash.h"

using namespace lockstep;
using namespace lockstep::checkpoint;

namespace {

ExitCode refusal(const std::string& seal) {
  try {
    parse_seal(seal);
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::finished;
}

}  // namespace

TEST_CASE("a seal is 512 bytes of text and reads back", "[checkpoint]") {
  const std::int64_t largest = INT64_MAX;
  for (const Seal& seal : {Seal{}, Seal{1200, 123456, 2048, 17, 0xfedcba9876543210},
                           Seal{largest, largest, largest, largest, UINT64_MAX}}) {
    const std::string text = render(seal);
    CHECK(text.size() == seal_bytes);
    CHECK(text.starts_with("lockstep checkpoint format 1\n"));
    CHECK(text.find('\0') == std::string::npos);
    CHECK(parse_seal(text) == seal);
  }
}

TEST_CASE("a seal that is not whole is refused", "[checkpoint]") {
  const std::string good = render({1200, 123456, 2048, 17, 99});
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {0, 5}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      CHECK(refusal(bad) == ExitCode::bad_data);
    }
  }
  CHECK(refusal("") == ExitCode::bad_data);
  CHECK(refusal(good.substr(1)) == ExitCode::bad_data);
  CHECK_THROWS_WITH(parse_seal(std::string(seal_bytes, '\0')), Catch::Contains("never sealed"));
  CHECK_THROWS_WITH(parse_seal(std::string(seal_bytes, 'x')), Catch::Contains("not a Lockstep checkpoint"));
}

TEST_CASE("an intact seal of a newer format names both versions", "[checkpoint]") {
  std::string newer = "lockstep checkpoint format 12\nwhatever comes then";
  newer.resize(seal_bytes - 22, ' ');
  char tail[23];
  std::snprintf(tail, sizeof tail, "seal %016llx\n", static_cast<unsigned long long>(hash64(newer)));
  newer += tail;
  CHECK(refusal(newer) == ExitCode::bad_config);
  CHECK_THROWS_WITH(parse_seal(newer), Catch::Contains("format 12") && Catch::Contains("up to format 1"));
}

TEST_CASE("slabs cover each row once", "[checkpoint]") {
  const std::vector<TensorInfo> tensors = {
      {"a", {10, 3}}, {"scalar", {}}, {"none", {0, 3}}, {"no_columns", {5, 0}}, {"one", {1, 100}}};
  for (const int size : {1, 2, 3, 7, 16}) {
    for (const std::int64_t limit : {1, 24, 1 << 20}) {
      std::vector<std::int64_t> rows(tensors.size());
      for (const SlabRecord& slab : plan_slabs(tensors, size, limit)) {
        const auto& shape = tensors[static_cast<std::size_t>(slab.tensor)].shape;
        auto& next = rows[static_cast<std::size_t>(slab.tensor)];
        CHECK(slab.first_row == next);
        next += slab.rows;
        CHECK(slab.bytes == slab.rows * row_bytes(shape));
        CHECK((slab.bytes <= limit || slab.rows == 1));
        const RowRange range = rows_of(row_count(shape), static_cast<int>(slab.writer), size);
        CHECK((slab.first_row >= range.first && slab.first_row + slab.rows <= range.last));
      }
      CHECK(rows == std::vector<std::int64_t>{10, 1, 0, 0, 1});
    }
  }
  CHECK_THROWS_WITH(plan_slabs(std::vector<TensorInfo>{{"huge", {2, 1 << 29}}}, 1, 1),
                    Catch::Contains("huge [2, 536870912]"));
}

TEST_CASE("names of checkpoints", "[checkpoint]") {
  CHECK(file_name(1200) == "step-00001200.h5");
  CHECK(file_name(1234567890) == "step-1234567890.h5");
  CHECK(temporary_name(1200, {"17", 2}) == ".step-00001200.h5.tmp.17.2");
}

TEST_CASE("state and tensors survive packing", "[checkpoint]") {
  State state{1, 2, 3, {{"i", std::int64_t{-4}}, {"d", 0.1}, {"t", std::string("x\0y", 3)}}};
  const std::vector<TensorInfo> tensors = {{"a", {1, 2}}, {"scalar", {}}};
  State read;
  std::vector<TensorInfo> read_tensors;
  const std::string bytes = pack(state, tensors);
  unpack(bytes, read, read_tensors);
  CHECK(read == state);
  CHECK(read_tensors == tensors);
  CHECK_THROWS_AS(unpack(std::string_view(bytes).substr(0, bytes.size() - 1), read, read_tensors), Error);
}
