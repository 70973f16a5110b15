#include "train/stragglers.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace lockstep::train;
using Catch::Contains;

namespace {

StepReport step(double data, double compute, double update = 0) {
  StepReport report;
  report.data_seconds = data;
  report.compute_seconds = compute;
  report.update_seconds = update;
  return report;
}

// Ranks that compute for so long and wait for no data.
std::vector<Pace> computing(const std::vector<double>& seconds) {
  std::vector<Pace> paces;
  for (const double each : seconds) paces.push_back({0, each, 0});
  return paces;
}

// What holds the clocks of so many GPUs down: nothing.
std::vector<std::uint64_t> cool(std::size_t count) {
  return std::vector<std::uint64_t>(count, 0);
}

std::vector<int> slow_ones(const std::vector<double>& seconds, double factor = 1.3) {
  StragglerWatch watch(factor, std::vector<std::string>(seconds.size(), "n"));
  std::vector<int> ranks;
  for (const PaceChange& change : watch.judge(computing(seconds), cool(seconds.size()), 50))
    ranks.push_back(change.rank);
  return ranks;
}

}  // namespace

TEST_CASE("who works longer than most is slow", "[train]") {
  CHECK(slow_ones({0.1}).empty());
  CHECK(slow_ones({0.1, 0.1, 0.1}).empty());
  CHECK(slow_ones({0.1, 0.129}).empty());
  CHECK(slow_ones({0.1, 0.131}) == std::vector<int>{1});
  CHECK(slow_ones({0.2, 0.1}) == std::vector<int>{0});
  CHECK(slow_ones({0.1, 0.2, 0.1, 0.3}) == std::vector<int>{1, 3});
  CHECK(slow_ones({0.1, 0.1, 0.1, 0.2}, 2.5).empty());
  // A difference of less than 2 ms is noise.
  CHECK(slow_ones({0.001, 0.0029}).empty());
  CHECK(slow_ones({0.001, 0.0031}) == std::vector<int>{1});
}

TEST_CASE("the first steps of an attempt are not judged", "[train]") {
  PaceMeter meter(1, 1, 2);
  meter.add(step(0, 5));
  meter.add(step(0, 4));
  CHECK(meter.steps() == 0);
  meter.add(step(0, 1));
  CHECK(meter.steps() == 1);
  CHECK(meter.pace().work() == 1);
  meter.restart();
  meter.add(step(0, 2));
  CHECK(meter.steps() == 1);
  CHECK(meter.pace().work() == 2);
}

TEST_CASE("of an even number the smaller middle one is the median", "[train]") {
  CHECK(lower_median({3}) == 3);
  CHECK(lower_median({2, 1}) == 1);
  CHECK(lower_median({4, 1, 3, 2}) == 2);
  CHECK(lower_median({5, 1, 3}) == 3);
}

TEST_CASE("a spell of slowness is told once, with its end", "[train]") {
  StragglerWatch watch(1.3, {"a", "b", "c"});
  auto changes = watch.judge(std::vector<Pace>{{0.01, 0.1, 0}, {0.21, 0.1, 0.5}, {0, 0.1, 0}}, cool(3), 50);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].slow);
  CHECK(changes[0].rank == 1);
  CHECK(
      changes[0].text ==
      "rank 1 on b is slow: over 50 steps its own work took 310.0 ms a step, the median rank's 110.0 ms; it "
      "is slow in waiting for data: 210.0 ms, median 10.0 ms");
  CHECK(watch.present() == "rank 1 on b (waiting for data)");
  CHECK(watch.judge(computing({0.1, 0.3, 0.1}), cool(3), 50).empty());
  CHECK(watch.judge(computing({0.1, 0.12, 0.1}), cool(3), 50).empty());  // not enough for an end
  changes = watch.judge(computing({0.1, 0.11, 0.15}), cool(3), 50);
  REQUIRE(changes.size() == 2);
  CHECK(!changes[0].slow);
  CHECK(changes[0].text == "rank 1 on b keeps up again");
  CHECK_THAT(changes[1].text, Contains("rank 2 on c is slow") && Contains("slow in computing: 150.0 ms"));
  CHECK(watch.present() == "rank 2 on c (computing)");
  CHECK(watch.judge(computing({0.1, 0.1, 0.1}), cool(3), 50).size() == 1);
  CHECK(watch.present().empty());
}

TEST_CASE("a slow rank is told with what slows down its GPU and not all others", "[train]") {
  constexpr std::uint64_t power = 0x4, heat = 0x20;
  StragglerWatch watch(1.3, {"a", "b", "c"});
  const auto told = [&](const std::vector<std::uint64_t>& throttled) {
    const auto changes = watch.judge(computing({0.1, 0.3, 0.1}), throttled, 50);
    REQUIRE(changes.size() == 1);
    const std::string present = watch.present();
    watch.judge(computing({0.1, 0.1, 0.1}), cool(3), 50);
    return changes[0].text.substr(changes[0].text.find("median 100")) + " | " + present;
  };
  CHECK(told({power, power | heat, power}) ==
        "median 100.0 ms; what slows its GPU down: heat | rank 1 on b (computing, GPU: heat)");
  CHECK(told({power, power | heat, 0}) ==
        "median 100.0 ms; what slows its GPU down: power cap + heat | rank 1 on b (computing, GPU: power cap "
        "+ heat)");
  CHECK(told({heat, 0, heat}) == "median 100.0 ms | rank 1 on b (computing)");
  CHECK(told({heat, heat, heat}) == "median 100.0 ms | rank 1 on b (computing)");
}

TEST_CASE("a rank with more lanes is not slow", "[train]") {
  // 10 ms a lane and 5 ms of update.
  PaceMeter two(2, 2);
  PaceMeter one(1, 2);
  for (int i = 0; i < 3; ++i) {
    two.add(step(0.004, 0.025, 0.005));
    one.add(step(0.002, 0.015, 0.005));
  }
  CHECK(two.pace().work() == Approx(0.029));
  CHECK(one.pace().work() == Approx(0.029));
  CHECK(one.pace().data == Approx(0.004));
}

TEST_CASE("a single pause is no slowness", "[train]") {
  PaceMeter meter(1, 1);
  CHECK(meter.pace().work() == 0);
  meter.add(step(0, 0.5));
  CHECK(meter.pace().compute == 0.5);
  meter.add(step(0, 0.1));
  meter.add(step(0, 0.1));
  CHECK(meter.steps() == 3);
  CHECK(meter.pace().compute == Approx(0.1));
  meter.restart();
  CHECK(meter.steps() == 0);
  CHECK(meter.pace().work() == 0);
}

TEST_CASE("the table of ranks has a row for each", "[train]") {
  CHECK(ranks_table(std::vector<Pace>{{0.001, 0.02, 0.25}, {0, 1, 0}}, std::vector<std::string>{"n0", "n,1"},
                    7) ==
        "rank,node,steps,data_seconds,compute_seconds,communication_seconds\n"
        "0,n0,7,0.001000,0.020000,0.250000\n"
        "1,n;1,7,0.000000,1.000000,0.000000\n");
}
