#include "train/guard.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "train/stall_alarm.h"
#include "train/suspects.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Config::Guard spikes_above(double factor) {
  return {"skip", factor, 2, 0};
}

// After the start-up, with a mean of 1.
Guard settled(double factor) {
  Guard guard(spikes_above(factor));
  for (std::int64_t i = 0; i < Guard::window; ++i) guard.accept(1);
  return guard;
}

std::vector<std::int64_t> samples_of(const Suspects& suspects) {
  std::vector<std::int64_t> samples;
  for (const Suspect& suspect : suspects.worst) samples.push_back(suspect.sample);
  return samples;
}

}  // namespace

TEST_CASE("what is not finite is an anomaly from the first step on", "[guard]") {
  const Guard guard(spikes_above(0));
  CHECK(guard.fault_of_loss(1e300).empty());
  CHECK(guard.fault_of_loss(not_a_number) == "the loss is nan");
  CHECK(guard.fault_of_loss(-not_a_number) == "the loss is nan");
  CHECK(guard.fault_of_loss(infinity) == "the loss is inf");
  CHECK(guard.fault_of_loss(-infinity) == "the loss is -inf");
  CHECK(Guard::fault_of_gradient(0).empty());
  CHECK(Guard::fault_of_gradient(not_a_number) == "the gradient's norm is nan");
  CHECK(Guard::fault_of_gradient(infinity) == "the gradient's norm is inf");
}

TEST_CASE("a spike is a loss of more than the factor times the recent mean", "[guard]") {
  const Guard guard = settled(3);
  CHECK(guard.fault_of_loss(3).empty());
  CHECK(guard.fault_of_loss(3.001) == "the loss is 3.001, more than 3 x the recent mean of 1");
  CHECK(settled(0).fault_of_loss(1e9).empty());
}

TEST_CASE("nothing is a spike until enough losses have been accepted", "[guard]") {
  Guard guard(spikes_above(2));
  for (std::int64_t i = 0; i + 1 < Guard::window; ++i) guard.accept(1);
  CHECK(guard.fault_of_loss(100).empty());
  guard.accept(1);
  CHECK_FALSE(guard.fault_of_loss(100).empty());
}

TEST_CASE("the recent mean is the median of the first losses, then an exponential one", "[guard]") {
  Guard guard(spikes_above(2));
  CHECK(std::isnan(guard.mean()));
  guard.accept(3);
  CHECK(guard.mean() == 3);
  guard.accept(1);
  CHECK(guard.mean() == 2);
  guard.accept(1e9);
  CHECK(guard.mean() == 3);
  Guard late = settled(2);
  late.accept(2);
  CHECK(late.mean() == Approx(1.05));
  // Nothing that was refused enters it.
  late.reject(30, "the loss is 50");
  CHECK(late.mean() == Approx(1.05));
}

TEST_CASE("bad losses among the first do not hide a later spike", "[guard]") {
  Guard guard(spikes_above(5));
  for (std::int64_t i = 0; i < Guard::window; ++i) guard.accept(i % 3 == 0 ? 1e6 : 1.0);
  CHECK(guard.mean() == 1);
  CHECK(guard.fault_of_loss(4.9).empty());
  CHECK_FALSE(guard.fault_of_loss(5.1).empty());
}

TEST_CASE("rollbacks to the same step end the run, however many good steps lie between", "[guard]") {
  Guard guard(spikes_above(2));
  const auto bad_step = [&](std::int64_t step, std::int64_t aim) {
    guard.accept(1);
    guard.reject(step, "the loss is nan");
    guard.count_rollback(step, "the loss is nan", aim);
  };
  bad_step(10, 0);
  bad_step(20, 0);
  bad_step(30, 25);  // the run has got further
  bad_step(40, 25);
  // Also where the count comes out of a checkpoint, and the losses out of an earlier one.
  checkpoint::State state;
  guard.write(state);
  guard = Guard(spikes_above(2));
  guard.read(state);
  guard.roll_back_to(Guard(spikes_above(2)));
  try {
    bad_step(50, 25);
    FAIL("gone back");
  } catch (const AgreedError& error) {
    CHECK(error.code() == ExitCode::bad_config);
    CHECK_THAT(error.what(), Catch::Contains("step 50: the loss is nan; the run has gone back to step 25 2 "
                                             "times, as many as guard.max_anomalies allows"));
  }
}

TEST_CASE("more anomalies in a row than are allowed end the run", "[guard]") {
  Guard guard(spikes_above(2));
  guard.reject(1, "a");
  guard.reject(2, "b");
  guard.accept(1);
  guard.reject(4, "c");
  guard.reject(5, "d");
  try {
    guard.reject(6, "the loss is nan");
    FAIL("accepted");
  } catch (const AgreedError& error) {
    CHECK(error.code() == ExitCode::bad_config);
    CHECK_THAT(error.what(), Catch::Contains("step 6: the loss is nan; 3 anomalies in a row"));
  }
}

TEST_CASE("a guard goes on from a checkpoint with the same bits", "[guard]") {
  Guard guard(spikes_above(2));
  for (const double loss : {0.1, 0.7, 1.0 / 3}) guard.accept(loss);
  guard.reject(4, "x");
  checkpoint::State state;
  guard.write(state);
  Guard resumed(spikes_above(2));
  resumed.read(state);
  CHECK(resumed.in_a_row() == 1);
  for (std::int64_t i = 0; i < Guard::window; ++i) {
    guard.accept(0.9 / static_cast<double>(i + 3));
    resumed.accept(0.9 / static_cast<double>(i + 3));
    CHECK(guard.mean() == resumed.mean());
  }

  Guard fresh(spikes_above(2));
  fresh.read(checkpoint::State{});  // of an earlier version
  CHECK(fresh.in_a_row() == 0);
}

TEST_CASE("a rollback takes the mean back but not the row of anomalies", "[guard]") {
  Guard guard = settled(2);
  guard.accept(1.9);
  guard.reject(22, "x");
  guard.roll_back_to(settled(2));
  CHECK(guard.mean() == 1);
  CHECK(guard.in_a_row() == 1);
}

TEST_CASE("the samples without a finite loss are listed alone", "[suspects]") {
  const std::vector<Suspects> lists = {{{{2, 1, 21, not_a_number}, {2, 0, 20, 5}}, 1},
                                       {{{0, 3, 3, infinity}}, 1}};
  const Suspects all = merged(lists);
  CHECK(samples_of(all) == std::vector<std::int64_t>{3, 21});
  CHECK(all.not_finite == 2);
  CHECK(merged({}).worst.empty());
}

TEST_CASE("among finite losses those near the worst one are listed", "[suspects]") {
  const std::vector<Suspects> lists = {{{{0, 0, 10, 0.5}, {0, 1, 11, 80}}, 0},
                                       {{{1, 0, 12, 100}, {1, 1, 13, 9}}, 0}};
  CHECK(samples_of(merged(lists)) == std::vector<std::int64_t>{12, 11});
}

TEST_CASE("a sample with outlying inputs is told by the largest of them", "[suspects]") {
  data::Batch batch;
  batch.size = 3;
  batch.x = {1, -2, 3, 0.5, -31, 2};
  CHECK(outlying_inputs(batch) == std::vector<double>{0, 0, 31});
  batch.x[4] = -20;  // ten times as much as usual, not more
  CHECK(outlying_inputs(batch) == std::vector<double>{0, 0, 0});
  batch.size = 1;  // nothing to compare with
  CHECK(outlying_inputs(batch) == std::vector<double>{0});
  // The size of the input decides among them, whatever their losses.
  const std::vector<Suspects> lists = {{{{0, 0, 10, 5, 1e20}}, 0}, {{{1, 0, 12, 0.1, 1e25}}, 0}};
  CHECK(samples_of(merged(lists)) == std::vector<std::int64_t>{12});
}

TEST_CASE("a list of suspects is the same however the ranks divide the lanes", "[suspects]") {
  Suspects one;
  for (std::int64_t i = 0; i < 40; ++i) {
    one.worst.push_back({i / 4, i % 4, i, i % 7 == 0 ? not_a_number : static_cast<double>(i)});
    if (i % 7 == 0) ++one.not_finite;
  }
  for (std::int64_t i = 40; i < 60; ++i) one.worst.push_back({i / 4, i % 4, i, not_a_number});
  std::vector<Suspects> parts(3);
  for (const Suspect& suspect : one.worst) {
    parts[static_cast<std::size_t>(2 - suspect.lane / 5)].worst.push_back(suspect);
  }
  for (Suspects& part : parts) part = merged({&part, 1});
  CHECK(samples_of(merged(parts)) == samples_of(merged({&one, 1})));
  CHECK(merged(parts).worst.size() == most_suspects);
}

TEST_CASE("the alarm goes off once per period without improvement", "[guard]") {
  StallAlarm alarm(60, 1000);
  CHECK_FALSE(alarm.due(2.0, 1001));
  CHECK_FALSE(alarm.due(2.5, 1060));
  CHECK(alarm.due(2.5, 1061));
  CHECK(alarm.seconds_without_improvement(1061) == 60);
  CHECK(alarm.best() == 2.0);
  CHECK_FALSE(alarm.due(2.5, 1120));
  CHECK(alarm.due(2.0, 1121));  // as good is not better
  CHECK_FALSE(alarm.due(1.9, 1122));
  CHECK_FALSE(alarm.due(not_a_number, 1181));
  CHECK(alarm.due(not_a_number, 1182));
}

TEST_CASE("an alarm that is switched off, and one without any loss", "[guard]") {
  StallAlarm off(0, 0);
  CHECK_FALSE(off.due(1, 1e9));
  StallAlarm alarm(60, 0);
  CHECK_FALSE(alarm.due(not_a_number, 59));
  CHECK(alarm.due(not_a_number, 60));
}
