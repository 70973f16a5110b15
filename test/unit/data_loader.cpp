#include "data/loader.h"

#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "comm/tree.h"
#include "data/eval_reader.h"
#include "data_fixture.h"

using namespace lockstep;
using namespace lockstep::data;
using test::ShardSpec;
using test::TemporaryFolder;

namespace {

constexpr auto kLong = std::chrono::seconds(60);
const std::vector<std::int64_t> kUneven = {1000, 1, 999, 0, 17};

template <typename Reader>
Batch take(Reader& reader) {
  auto batch = reader.next(kLong);
  REQUIRE(batch.has_value());
  return std::move(*batch);
}

// x and y must be those of the ids that the batch claims.
void check_values(const Batch& batch, std::int64_t elements) {
  REQUIRE(batch.ids.size() == static_cast<std::size_t>(batch.size));
  REQUIRE(batch.y.size() == batch.ids.size());
  REQUIRE(batch.x.size() == batch.ids.size() * static_cast<std::size_t>(elements));
  int wrong = 0;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    wrong += batch.y[i] != batch.ids[i] % 10;
    for (std::int64_t j = 0; j < elements; ++j) {
      const auto value = static_cast<float>(test::stored_value(batch.ids[i], j));
      wrong += batch.x[i * static_cast<std::size_t>(elements) + static_cast<std::size_t>(j)] != value;
    }
  }
  CHECK(wrong == 0);
}

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // epoch, step, lane

struct Pass {
  std::map<Key, std::vector<std::int64_t>> ids;
  std::int64_t bytes = 0;
};

// Two epochs over `ranks` loaders with contiguous lane ranges.
Pass two_epochs(const Dataset& dataset, const Sampler& sampler, int ranks) {
  Pass pass;
  for (int rank = 0; rank < ranks; ++rank) {
    const LaneRange lanes = comm::lanes_of(rank, ranks, static_cast<int>(sampler.lanes()));
    Loader loader(dataset, sampler, lanes, {0, 0});
    std::int64_t left = 2 * sampler.steps_per_epoch() * (lanes.last - lanes.first);
    for (; left > 0; --left) {
      Batch batch = take(loader);
      check_values(batch, dataset.sample_elements());
      CHECK(pass.ids.emplace(Key{batch.epoch, batch.step_in_epoch, batch.lane}, batch.ids).second);
      loader.recycle(std::move(batch));
    }
  }
  return pass;
}

// The same with no batch read ahead of the two epochs, to count bytes.
std::int64_t bytes_of_epoch(const Dataset& dataset, const Sampler& sampler, int ranks) {
  std::int64_t bytes = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const LaneRange lanes = comm::lanes_of(rank, ranks, static_cast<int>(sampler.lanes()));
    Loader loader(dataset, sampler, lanes, {0, 0}, 1);
    std::int64_t batches = sampler.steps_per_epoch() * (lanes.last - lanes.first);
    // The queue holds one batch and the thread one more: it cannot have gone on to the next epoch's windows
    // before the last but one batch of this epoch was taken.
    for (; batches > 2; --batches) loader.recycle(take(loader));
    bytes += loader.bytes_read();
  }
  return bytes;
}

void check_same_for_any_rank_count(const TemporaryFolder& folder, const SamplerConfig& config) {
  const Dataset dataset = Dataset::open(folder.path());
  const Sampler sampler(dataset, config);
  const Pass one = two_epochs(dataset, sampler, 1);
  std::map<std::int64_t, std::vector<int>> seen;
  for (const auto& [key, ids] : one.ids) {
    const auto [epoch, step, lane] = key;
    CHECK(ids == sampler.plan(epoch).ids(step, lane));
    auto& counts = seen.try_emplace(epoch, static_cast<std::size_t>(dataset.size())).first->second;
    for (const std::int64_t id : ids) ++counts[static_cast<std::size_t>(id)];
  }
  REQUIRE(seen.size() == 2);
  for (const auto& [epoch, counts] : seen) {
    CHECK(std::count(counts.begin(), counts.end(), 1) == dataset.size());
  }
  for (const int ranks : {2, 3, 4}) {
    if (ranks <= sampler.lanes()) CHECK(two_epochs(dataset, sampler, ranks).ids == one.ids);
  }
}

}  // namespace

TEST_CASE("1 to 4 ranks see the same ids per step and lane, each once", "[data]") {
  struct Case {
    std::int64_t global_batch, micro_batch, window;
  };
  const auto [global_batch, micro_batch, window] = GENERATE(
      Case{64, 16, 4096}, Case{96, 8, 128}, Case{48, 12, 100}, Case{2400, 200, 4096}, Case{3000, 3000, 1});
  CAPTURE(global_batch, micro_batch, window);
  const TemporaryFolder folder;
  SECTION("contiguous") {
    test::write_shards(folder.path(), kUneven);
  }
  SECTION("chunked, compressed, of other types") {
    ShardSpec spec;
    spec.chunk_rows = 20;
    spec.gzip = 1;
    spec.x_type = H5T_IEEE_F32BE;
    spec.y_type = H5T_STD_I64BE;
    test::write_shards(folder.path(), kUneven, spec);
  }
  check_same_for_any_rank_count(folder, {11, global_batch, micro_batch, window});
}

TEST_CASE("each byte of an epoch is read once", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  double limit = 1.0;
  SECTION("contiguous") {}
  SECTION("contiguous in the other byte order") {
    spec.x_type = H5T_STD_U16BE;
  }
  SECTION("chunked and compressed") {
    spec.chunk_rows = 8;
    spec.gzip = 4;
    limit = 1.1;
  }
  test::write_shards(folder.path(), kUneven, spec);
  const Dataset dataset = Dataset::open(folder.path());
  const Sampler sampler(dataset, {11, 96, 8, 4096});
  for (const int ranks : {1, 2, 3, 4}) {
    const auto bytes = static_cast<double>(bytes_of_epoch(dataset, sampler, ranks));
    CHECK(bytes <= limit * static_cast<double>(dataset.bytes()));
    CHECK(bytes >= static_cast<double>(dataset.bytes()));
  }
}

TEST_CASE("a loader that starts anywhere gives what follows there", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), kUneven);
  const Dataset dataset = Dataset::open(folder.path());
  const Sampler sampler(dataset, {3, 96, 24, 128});
  const LaneRange lanes{1, 3};
  const std::int64_t steps = sampler.steps_per_epoch();
  std::vector<std::vector<std::int64_t>> whole;
  {
    Loader loader(dataset, sampler, lanes, {0, 0});
    for (std::int64_t i = 0; i < 2 * steps * 2; ++i) whole.push_back(take(loader).ids);
  }
  for (std::int64_t step = 0; step <= 2 * steps - 1; ++step) {
    Loader loader(dataset, sampler, lanes, {step / steps, step % steps});
    for (std::int64_t i = step * 2; i < std::min(step * 2 + 4, 2 * steps * 2); ++i) {
      CHECK(take(loader).ids == whole[static_cast<std::size_t>(i)]);
    }
  }
  Loader at_end(dataset, sampler, lanes, {0, steps});
  CHECK(take(at_end).ids == whole[static_cast<std::size_t>(steps * 2)]);
}

TEST_CASE("lanes without a sample in the last step give empty batches", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {10});
  const Dataset dataset = Dataset::open(folder.path());
  Loader loader(dataset, Sampler(dataset, {1, 8, 4, 4096}), {0, 2}, {0, 0});
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 5; ++i) {
    const Batch batch = take(loader);
    check_values(batch, 6);
    sizes.push_back(batch.size);
  }
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 2, 0, 4});
}

TEST_CASE("fewer samples than lanes", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {1, 0, 2});
  check_same_for_any_rank_count(folder, {1, 12, 1, 4096});
}

TEST_CASE("more shards than are kept open", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  SECTION("contiguous") {}
  SECTION("chunked") {
    spec.chunk_rows = 2;
  }
  test::write_shards(folder.path(), std::vector<std::int64_t>(40, 3), spec);
  check_same_for_any_rank_count(folder, {1, 12, 2, 30});
}

TEST_CASE("values reach the model scaled and normalised", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.attributes = {{"classes", 10}, {"scale", 0.5}, {"mean", 3}, {"std", 4}};
  SECTION("uint8") {}
  SECTION("int16") {
    spec.x_type = H5T_STD_I16LE;
  }
  SECTION("float64") {
    spec.x_type = H5T_IEEE_F64LE;
  }
  test::write_shards(folder.path(), {5}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  EvalReader reader(dataset, 5, {0});
  const Batch batch = take(reader);
  for (std::int64_t i = 0; i < 30; ++i) {
    const double stored = static_cast<double>(test::stored_value(i / 6, i % 6));
    CHECK(batch.x[static_cast<std::size_t>(i)] == Approx((stored * 0.5 - 3) / 4));
  }
}

TEST_CASE("evaluation reads each sample once, in order", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  SECTION("contiguous") {}
  SECTION("chunked") {
    spec.chunk_rows = 50;
  }
  test::write_shards(folder.path(), kUneven, spec);
  const Dataset dataset = Dataset::open(folder.path());
  REQUIRE(evaluation_batches(dataset, 100) == 21);
  std::vector<std::int64_t> ids;
  for (const auto& list : {std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}, std::vector<std::int64_t>{},
                           std::vector<std::int64_t>{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}}) {
    EvalReader reader(dataset, 100, list);
    for (const std::int64_t number : list) {
      const Batch batch = take(reader);
      check_values(batch, 6);
      CHECK(batch.step_in_epoch == number);
      ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
    }
    CHECK_FALSE(reader.next(kLong).has_value());
    CHECK(reader.finished());
  }
  REQUIRE(ids.size() == 2017);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(ids[i] == static_cast<std::int64_t>(i));
  CHECK(test::error_of([&] { EvalReader(dataset, 100, {21}); }) ==
        "78: evaluation batch 21 does not exist: there are 21");
}

TEST_CASE("faults in the data are thrown by next(), with file and row, after the batches before them",
          "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  std::string text;
  SECTION("label out of range") {
    spec.label = [](std::int64_t id) { return id == 25 ? 10 : id % 10; };
    text = "65: row 5 of dataset y of " + (folder / "01.h5").string() + " has label 10, wanted 0 to 9";
  }
  SECTION("negative label") {
    spec.y_type = H5T_STD_I8LE;
    spec.label = [](std::int64_t id) { return id == 25 ? -1 : id % 10; };
    text = "65: row 5 of dataset y of " + (folder / "01.h5").string() + " has label -1, wanted 0 to 9";
  }
  SECTION("NaN") {
    spec.x_type = H5T_IEEE_F32LE;
    text = "65: row 5 of dataset x of " + (folder / "01.h5").string() +
           " has nan at index 0 of the sample, wanted a finite number";
  }
  test::write_shards(folder.path(), {20, 20}, spec);
  if (spec.x_type == H5T_IEEE_F32LE) {
    const auto guard = hdf5::lock();
    const hdf5::File file(H5Fopen((folder / "01.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Dataset x(H5Dopen2(file.get(), "x", H5P_DEFAULT));
    std::vector<float> values(120, 1.0f);
    values[30] = std::numeric_limits<float>::quiet_NaN();
    H5Dwrite(x.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  const Dataset dataset = Dataset::open(folder.path());
  EvalReader reader(dataset, 10, {0, 1, 2});
  CHECK(take(reader).step_in_epoch == 0);
  CHECK(take(reader).step_in_epoch == 1);
  CHECK_THAT(test::error_of([&] { reader.next(kLong); }), Catch::StartsWith(text));
  CHECK_THAT(test::error_of([&] { reader.next(kLong); }), Catch::StartsWith(text));
}

TEST_CASE("a file that shrinks under the reader is named with its rows", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {4000});
  const Dataset dataset = Dataset::open(folder.path());
  std::filesystem::resize_file(folder / "00.h5", 10000);
  EvalReader reader(dataset, 4000, {0});
  CHECK_THAT(
      test::error_of([&] { reader.next(kLong); }),
      Catch::StartsWith("65: cannot read rows 0 to 3999 of dataset x of " + (folder / "00.h5").string()));
}

TEST_CASE("a damaged compressed chunk is named with its rows", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.chunk_rows = 64;
  spec.gzip = 6;
  test::write_shards(folder.path(), {64}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  {
    const auto guard = hdf5::lock();
    const hdf5::File file(H5Fopen((folder / "00.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hdf5::Dataset x(H5Dopen2(file.get(), "x", H5P_DEFAULT));
    const std::vector<unsigned char> junk(40, 0xa5);
    const hsize_t offset[3] = {0, 0, 0};
    H5Dwrite_chunk(x.get(), H5P_DEFAULT, 0, offset, junk.size(), junk.data());
  }
  EvalReader reader(dataset, 64, {0});
  CHECK_THAT(
      test::error_of([&] { reader.next(kLong); }),
      Catch::StartsWith("65: cannot read rows 0 to 63 of dataset x of " + (folder / "00.h5").string()));
}

TEST_CASE("next gives up at its limit, and the destructor does not wait for the queue", "[data]") {
  const TemporaryFolder folder;
  ShardSpec spec;
  spec.chunk_rows = 16;  // needs the HDF5 lock, which the test keeps
  test::write_shards(folder.path(), {100}, spec);
  const Dataset dataset = Dataset::open(folder.path());
  auto guard = hdf5::lock();
  Loader loader(dataset, Sampler(dataset, {1, 10, 10, 4096}), {0, 1}, {0, 0}, 2);
  CHECK_FALSE(loader.next(std::chrono::milliseconds(20)).has_value());
  guard.unlock();
  CHECK(take(loader).size == 10);
  // Its queue is full or filling now; leaving the scope must end the thread all the same.
}

TEST_CASE("lanes and positions that do not exist are refused", "[data]") {
  const TemporaryFolder folder;
  test::write_shards(folder.path(), {100});
  const Dataset dataset = Dataset::open(folder.path());
  const Sampler sampler(dataset, {1, 20, 10, 4096});
  const auto make = [&](LaneRange lanes, Position start) {
    return test::error_of([&] { Loader(dataset, sampler, lanes, start); });
  };
  CHECK_THAT(make({0, 3}, {0, 0}), Catch::StartsWith("78: lanes 0 to 2 of 2 do not exist"));
  CHECK_THAT(make({1, 1}, {0, 0}), Catch::StartsWith("78: lanes"));
  CHECK(make({0, 2}, {0, 6}) == "78: epoch 0 step 6 does not exist: an epoch has 5 steps");
  CHECK(make({0, 2}, {0, 5}) == "no error");
}

TEST_CASE("a loader reads nothing for steps that will not be made", "[data]") {
  const TemporaryFolder folder;
  lockstep::test::write_shards(folder.path(), {40});
  const Dataset dataset = Dataset::open(folder.path());
  const SamplerConfig config{1, 8, 4, 64};
  Loader loader(dataset, Sampler(dataset, config), {0, 2}, {0, 0}, 4, 7);
  int batches = 0;
  while (batches < 14) batches += loader.next(std::chrono::milliseconds(100)) ? 1 : 0;
  CHECK_FALSE(loader.next(std::chrono::milliseconds(100)));
  CHECK(batches == 14);
  // Two epochs of five steps: the second one was begun.
  CHECK(loader.bytes_read() <= 2 * dataset.bytes());
}
