#include "train/best.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace lockstep;
using namespace lockstep::train;

namespace {

Config::Eval settings(const std::string& metric, std::int64_t patience, double min_delta = 0) {
  Config::Eval eval;
  eval.metric = metric;
  eval.patience = patience;
  eval.min_delta = min_delta;
  return eval;
}

Evaluation with(double loss, double accuracy = 0.5) {
  return {loss, accuracy, 100};
}

}  // namespace

TEST_CASE("the lowest loss and the highest accuracy are the best", "[best]") {
  Best loss(settings("loss", 0));
  CHECK(loss.step() == -1);
  CHECK(loss.offer(10, with(0.5)));
  CHECK_FALSE(loss.offer(20, with(0.5)));
  CHECK(loss.offer(30, with(0.4)));
  CHECK_FALSE(loss.offer(40, with(0.45)));
  CHECK(loss.step() == 30);
  CHECK_FALSE(loss.exhausted());  // patience 0: never

  Best accuracy(settings("accuracy", 0));
  CHECK(accuracy.offer(10, with(0.5, 0.0)));  // however bad, the first one is the best
  CHECK(accuracy.offer(20, with(0.9, 0.7)));
  CHECK_FALSE(accuracy.offer(30, with(0.1, 0.6)));
  CHECK(accuracy.step() == 20);
}

TEST_CASE("an improvement counts when it is greater than min_delta", "[best]") {
  Best best(settings("loss", 2, 0.1));
  best.offer(1, with(1.0));
  CHECK_FALSE(best.offer(2, with(0.95)));
  CHECK(best.offer(3, with(0.875)));
  CHECK_FALSE(best.exhausted());
}

TEST_CASE("patience counts the evaluations in a row that were not better", "[best]") {
  Best best(settings("loss", 2));
  best.offer(100, with(0.2626));
  best.offer(200, with(0.3));
  CHECK_FALSE(best.exhausted());
  best.offer(300, with(0.2));
  best.offer(400, with(0.3));
  best.offer(500, with(0.2));
  CHECK(best.exhausted());
  CHECK(best.verdict() == "no better loss in 2 evaluations; best 0.2 after step 300");
}

TEST_CASE("an evaluation that is not finite is never the best", "[best]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Best best(settings("loss", 1));
  CHECK_FALSE(best.offer(1, with(nan)));
  CHECK(best.exhausted());
  CHECK(best.verdict() == "no better loss in 1 evaluation; none was finite");
  CHECK_FALSE(best.offer(2, with(-std::numeric_limits<double>::infinity())));
  CHECK(best.offer(3, with(7)));
  CHECK_FALSE(best.offer(4, with(nan)));
  CHECK(best.step() == 3);
}

TEST_CASE("the best evaluation survives a checkpoint unless it cannot be compared any more", "[best]") {
  Best best(settings("loss", 3));
  best.offer(10, with(0.5));
  best.offer(20, with(0.6));
  checkpoint::State state;
  state.values["test_data"] = std::string("these");
  best.write(state);

  Best resumed(settings("loss", 3));
  resumed.read(state, "these");
  CHECK(resumed.step() == 10);
  CHECK(resumed.verdict() == best.verdict());
  CHECK_FALSE(resumed.offer(30, with(0.5)));

  Best by_accuracy(settings("accuracy", 3));
  by_accuracy.read(state, "these");
  CHECK(by_accuracy.step() == -1);
  Best on_others(settings("loss", 3));
  on_others.read(state, "those");
  CHECK(on_others.step() == -1);
  Best of_an_earlier_version(settings("loss", 3));
  of_an_earlier_version.read(checkpoint::State{}, "these");
  CHECK(of_an_earlier_version.step() == -1);
}
