#include "data/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "core/error.h"

using lockstep::data::Block;
using lockstep::data::EpochPlan;
using lockstep::data::Sampler;
using lockstep::data::SamplerConfig;

namespace {

// Shards of 1000, 1, 999, 0 and 17 samples, in blocks of 64.
std::vector<Block> uneven_blocks() {
  std::vector<Block> blocks;
  std::int64_t first = 0;
  for (const std::int64_t rows : {1000, 1, 999, 0, 17}) {
    for (std::int64_t row = 0; row < rows; row += 64) {
      blocks.push_back({first + row, std::min<std::int64_t>(64, rows - row)});
    }
    first += rows;
  }
  return blocks;
}

std::vector<std::int64_t> epoch_ids(const Sampler& sampler, std::int64_t epoch) {
  const EpochPlan plan = sampler.plan(epoch);
  std::vector<std::int64_t> all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    std::int64_t of_step = 0;
    for (std::int64_t lane = 0; lane < sampler.lanes(); ++lane) {
      const auto ids = plan.ids(step, lane);
      CHECK(static_cast<std::int64_t>(ids.size()) == sampler.lane_samples(step, lane));
      of_step += static_cast<std::int64_t>(ids.size());
      all.insert(all.end(), ids.begin(), ids.end());
    }
    CHECK(of_step == sampler.step_samples(step));
  }
  return all;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::int64_t> one_to(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace

TEST_CASE("an epoch visits each sample once", "[data]") {
  struct Case {
    std::int64_t global_batch, micro_batch, window;
  };
  const auto [global_batch, micro_batch, window] =
      GENERATE(Case{64, 16, 4096}, Case{96, 8, 200}, Case{4096, 1, 64}, Case{1, 1, 1}, Case{3000, 1000, 128},
               Case{7, 7, 4096}, Case{2017, 2017, 100});
  const Sampler sampler(uneven_blocks(), {5, global_batch, micro_batch, window});
  CAPTURE(global_batch, micro_batch, window);
  REQUIRE(sampler.samples() == 2017);
  for (const std::int64_t epoch : {0, 1}) CHECK(sorted(epoch_ids(sampler, epoch)) == one_to(2017));
}

TEST_CASE("epochs and seeds have orders of their own, the same every time", "[data]") {
  const Sampler sampler(uneven_blocks(), {5, 64, 16, 4096});
  CHECK(epoch_ids(sampler, 0) == epoch_ids(sampler, 0));
  CHECK(epoch_ids(sampler, 0) != epoch_ids(sampler, 1));
  CHECK(epoch_ids(sampler, 0) != epoch_ids(Sampler(uneven_blocks(), {6, 64, 16, 4096}), 0));
}

TEST_CASE("the order is well mixed inside a lane", "[data]") {
  // 4 lanes of 504 samples: neighbours in a lane must hardly ever be neighbours in the dataset.
  const Sampler sampler(uneven_blocks(), {5, 64, 16, 4096});
  const auto ids = epoch_ids(sampler, 0);
  int neighbours = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) neighbours += std::abs(ids[i] - ids[i - 1]) == 1;
  CHECK(neighbours < 40);
}

TEST_CASE("a small window mixes only near samples, a window of one block keeps blocks together", "[data]") {
  const Sampler sampler({{0, 64}, {64, 64}, {128, 64}, {192, 64}}, {5, 32, 32, 64});
  const auto ids = epoch_ids(sampler, 0);
  for (std::size_t block = 0; block < 4; ++block) {
    std::set<std::int64_t> from;
    for (std::size_t i = 0; i < 64; ++i) from.insert(ids[block * 64 + i] / 64);
    CHECK(from.size() == 1);
  }
}

TEST_CASE("the last step deals what is left in lane order", "[data]") {
  // 10 samples, 2 lanes of 4: a full step, then 2 samples for lane 0 and none for lane 1.
  const Sampler sampler({{0, 10}}, {1, 8, 4, 4096});
  CHECK(sampler.steps_per_epoch() == 2);
  CHECK(sampler.step_samples(0) == 8);
  CHECK(sampler.step_samples(1) == 2);
  CHECK(sampler.lane_samples(1, 0) == 2);
  CHECK(sampler.lane_samples(1, 1) == 0);
  CHECK(sampler.lane_total(0) == 6);
  CHECK(sampler.lane_total(1) == 4);
  CHECK(sampler.plan(0).ids(1, 1).empty());
}

TEST_CASE("fewer samples than lanes, one sample, and none", "[data]") {
  const Sampler three({{0, 3}}, {1, 12, 1, 4096});
  CHECK(three.steps_per_epoch() == 1);
  CHECK(sorted(epoch_ids(three, 4)) == one_to(3));
  const Sampler one({{0, 1}}, {1, 12, 4, 4096});
  CHECK(epoch_ids(one, 0) == one_to(1));
  const Sampler none(std::vector<Block>{}, {1, 12, 4, 4096});
  CHECK(none.steps_per_epoch() == 0);
  CHECK(epoch_ids(none, 0).empty());
}

TEST_CASE("any position is computed without the ones before it", "[data]") {
  const Sampler sampler(uneven_blocks(), {5, 64, 16, 128});
  const EpochPlan whole = sampler.plan(1);
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    CHECK(sampler.plan(1).ids(step, 2) == whole.ids(step, 2));
  }
}

TEST_CASE("batch sizes that do not fit are refused", "[data]") {
  const auto make = [](SamplerConfig config) { return Sampler({{0, 10}}, config); };
  CHECK_THROWS_WITH(make({1, 10, 4, 1}),
                    "global_batch 10 is not a multiple of micro_batch 4; both count samples, at least 1");
  CHECK_THROWS_AS(make({1, 0, 4, 1}), lockstep::Error);
  CHECK_THROWS_AS(make({1, 4, 0, 1}), lockstep::Error);
  CHECK_THROWS_WITH(make({1, 4, 4, 0}), Catch::Contains("shuffle_window is 0"));
}

// A run that resumes with another release must see the same samples.
TEST_CASE("the order does not change between releases", "[data]") {
  const Sampler sampler({{0, 4}, {4, 4}, {8, 2}}, {42, 4, 2, 8});
  CHECK(epoch_ids(sampler, 0) == std::vector<std::int64_t>{1, 0, 6, 5, 3, 9, 7, 4, 8, 2});
}
