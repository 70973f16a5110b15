#include "data/content_check.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "data/eval_reader.h"
#include "data/verify.h"
#include "data_fixture.h"

using namespace lockstep;
using namespace lockstep::data;
using test::ShardSpec;
using test::TemporaryFolder;

namespace {

std::string fault_of(const TemporaryFolder& folder, ContentDepth depth) {
  return test::error_of([&] {
    const Dataset dataset = Dataset::open(folder.path());
    ContentCheck check(dataset, depth);
    std::int64_t next = 0;
    while (next < dataset.size()) next = check.check(next, dataset.size());
  });
}

template <typename T>
std::vector<T> all_ones_but(std::size_t count, std::size_t index, T value) {
  std::vector<T> values(count, T{1});
  values[index] = value;
  return values;
}

}  // namespace

TEST_CASE("a label outside the classes is found in any shard", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.label = [](std::int64_t id) { return id == 120 ? 200 : 1; };
  test::write_shards(folder.path(), {100, 0, 50}, spec);
  for (const auto depth : {ContentDepth::y, ContentDepth::x_and_y}) {
    CHECK(fault_of(folder, depth) == "65: row 20 of dataset y of " + (folder / "02.h5").string() +
                                         " has label 200, wanted 0 to 9: correct y, or attribute classes");
  }
}

TEST_CASE("a label beyond int64 is told as it is stored", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.y_type = H5T_STD_U64LE;
  std::string wanted = "wanted 0 to 9";
  SECTION("beyond the classes that an attribute tells") {}
  SECTION("beyond those that the other labels tell") {
    spec.attributes.erase("classes");
    wanted = "wanted 0 to 1";
  }
  test::write_shards(folder.path(), {8}, spec);
  test::overwrite(folder / "00.h5", "y", H5T_NATIVE_UINT64,
                  all_ones_but<std::uint64_t>(8, 3, 18446744073709551615u));
  CHECK_THAT(fault_of(folder, ContentDepth::y),
             Catch::StartsWith("65: row 3 of dataset y of " + (folder / "00.h5").string() +
                               " has label 18446744073709551615, " + wanted));
}

TEST_CASE("numbers that are not finite are found in any type of float", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  std::string seen;
  constexpr std::size_t bad = 4 * 6 + 5;
  SECTION("float32") {
    spec.x_type = H5T_IEEE_F32LE;
    test::write_shards(folder.path(), {10, 20}, spec);
    test::overwrite(folder / "01.h5", "x", H5T_NATIVE_FLOAT,
                    all_ones_but(120, bad, std::numeric_limits<float>::quiet_NaN()));
    seen = "nan";
  }
  SECTION("float64, other byte order, compressed") {
    spec.x_type = H5T_IEEE_F64BE;
    spec.chunk_rows = 3;
    spec.gzip = 1;
    test::write_shards(folder.path(), {10, 20}, spec);
    test::overwrite(folder / "01.h5", "x", H5T_NATIVE_DOUBLE, all_ones_but(120, bad, -HUGE_VAL));
    seen = "-inf";
  }
  SECTION("a float64 that no float32 holds") {
    spec.x_type = H5T_IEEE_F64LE;
    test::write_shards(folder.path(), {10, 20}, spec);
    test::overwrite(folder / "01.h5", "x", H5T_NATIVE_DOUBLE, all_ones_but(120, bad, 1e39));
    seen = "1e+39";
  }
  CHECK(fault_of(folder, ContentDepth::x_and_y) == "65: row 4 of dataset x of " +
                                                       (folder / "01.h5").string() + " has " + seen +
                                                       " at index 5 of the sample, wanted a finite number "
                                                       "within float32: correct x, or leave the sample out");
  CHECK(fault_of(folder, ContentDepth::y) == "no error");
}

TEST_CASE("whole numbers are not read", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {10});
  const Dataset dataset = Dataset::open(folder.path());
  CHECK_FALSE(ContentCheck(dataset, ContentDepth::x_and_y).reads_x());
  ShardSpec spec;
  spec.x_type = H5T_IEEE_F32LE;
  test::write_shards(folder.path(), {10}, spec);
  CHECK(ContentCheck(Dataset::open(folder.path()), ContentDepth::x_and_y).reads_x());
  CHECK_FALSE(ContentCheck(Dataset::open(folder.path()), ContentDepth::y).reads_x());
}

TEST_CASE("a check goes on piece by piece, and ends where it is told", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.sample_shape = {};
  spec.x_type = H5T_IEEE_F32LE;
  test::write_shards(folder.path(), {20}, spec);
  ContentCheck check(Dataset::open(folder.path()), ContentDepth::x_and_y);
  CHECK(check.piece() == (16 << 20) / 5);
  CHECK(check.check(3, 7) == 7);
  CHECK(check.check(7, 20) == 20);
}

TEST_CASE("numbers to predict arrive in the batch", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes = {};
  std::int64_t width = 1;
  SECTION("one a row") {
    spec.y_type = H5T_IEEE_F32LE;
  }
  SECTION("three a row, float64, other byte order, compressed") {
    spec.y_type = H5T_IEEE_F64BE;
    spec.target_shape = {width = 3};
    spec.chunk_rows = 4;
    spec.gzip = 1;
  }
  SECTION("one a row, as a table of one column") {
    spec.y_type = H5T_IEEE_F32BE;
    spec.target_shape = {1};
  }
  test::write_shards(folder.path(), {10, 0, 7}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  CHECK(dataset.classes() == 0);
  CHECK(dataset.target_width() == width);
  CHECK(dataset.outputs() == width);
  EvalReader reader(dataset, 17, {0});
  const auto batch = reader.next(std::chrono::seconds(60));
  REQUIRE(batch.has_value());
  CHECK(batch->y.empty());
  REQUIRE(batch->targets.size() == static_cast<std::size_t>(17 * width));
  for (std::int64_t i = 0; i < 17 * width; ++i) {
    CHECK(batch->targets[static_cast<std::size_t>(i)] ==
          static_cast<float>(spec.target(i / width, i % width)));
  }
  CHECK(verify(folder.path()).faults.empty());
}

TEST_CASE("targets that no float32 holds are found", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes = {};
  spec.y_type = H5T_IEEE_F64LE;
  spec.target_shape = {2};
  spec.target = [](std::int64_t id, std::int64_t index) { return id == 12 && index == 1 ? 1e39 : 0.5; };
  test::write_shards(folder.path(), {10, 7}, spec);
  const std::string fault =
      "row 2 of dataset y of " + (folder / "01.h5").string() +
      " has inf at index 1, wanted a finite float32: correct y, or leave the sample out";
  CHECK(fault_of(folder, ContentDepth::y) == "65: " + fault);
  CHECK(verify(folder.path()).faults == std::vector<std::string>{fault});
}

TEST_CASE("targets are part of the fingerprint", "[data]") {
  const auto fingerprint = [](const ShardSpec& spec) {
    const TemporaryFolder folder;
    test::write_shards(folder.path(), {20}, spec);
    return Dataset::open(folder.path()).fingerprint();
  };
  ShardSpec spec;
  spec.attributes = {};
  spec.y_type = H5T_IEEE_F32LE;
  const auto base = fingerprint(spec);
  CHECK(fingerprint(spec) == base);
  ShardSpec other = spec;
  other.target = [](std::int64_t, std::int64_t) { return 1.0; };
  CHECK(fingerprint(other) != base);
  other = spec;
  other.lists["mean"] = {0.5, 0.5};
  other.sample_shape = {2};
  const auto lists = fingerprint(other);
  other.lists["std"] = {0.5, 0.5};
  other.lists.erase("mean");
  CHECK(fingerprint(other) != lists);
}

TEST_CASE("each channel and each feature may have values of its own", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes = {{"classes", 10}, {"scale", 0.5}, {"std", 4}};
  spec.lists["mean"] = {3, -7};
  std::int64_t group = 1;
  SECTION("channels") {
    spec.sample_shape = {2, 3, 2};
    group = 6;
  }
  SECTION("channels, both lists") {
    spec.sample_shape = {2, 3, 2};
    spec.attributes.erase("std");
    spec.lists["std"] = {4, 0.25};
    group = 6;
  }
  SECTION("features") {
    spec.sample_shape = {2};
  }
  test::write_shards(folder.path(), {5}, spec);
  EvalReader reader(Dataset::open(folder.path()), 5, {0});
  const auto batch = reader.next(std::chrono::seconds(60));
  REQUIRE(batch.has_value());
  const double std1 = spec.lists.contains("std") ? 0.25 : 4;
  for (std::int64_t i = 0; i < 10 * group; ++i) {
    const std::int64_t element = i % (2 * group);
    const auto stored = static_cast<double>(test::stored_value(i / (2 * group), element));
    const bool second = element >= group;
    CHECK(batch->x[static_cast<std::size_t>(i)] ==
          Approx((stored * 0.5 - (second ? -7 : 3)) / (second ? std1 : 4)));
  }
}
