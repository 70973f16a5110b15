#include "train/save_patience.h"

#include <catch2/catch.hpp>

using namespace lockstep::train;

TEST_CASE("saves by the clock are due after checkpoint.minutes, and sooner after a failure", "[save]") {
  SavePatience patience(15, 1000);
  CHECK_FALSE(patience.due(1000 + 15 * 60));
  CHECK(patience.due(1001 + 15 * 60));
  patience.failed(2000);
  CHECK_FALSE(patience.due(2060));
  CHECK(patience.due(2061));
  patience.saved(3000);
  CHECK_FALSE(patience.due(3061));

  SavePatience quick(0.1, 0);
  quick.failed(10);
  CHECK(quick.due(17));  // not later than without a failure

  SavePatience by_steps(0, 0);
  CHECK_FALSE(by_steps.due(1e9));
}

TEST_CASE("a run gives up when three saves in a row have failed and the newest checkpoint is old", "[save]") {
  SavePatience patience(15, 0);
  patience.failed(900);
  patience.failed(960);
  CHECK_FALSE(patience.exhausted(1e6));
  patience.failed(1020);
  CHECK_FALSE(patience.exhausted(1800));
  CHECK(patience.exhausted(1801));
  patience.saved(1801);
  CHECK_FALSE(patience.exhausted(1e6));

  SavePatience by_steps(0, 0);
  by_steps.failed(1);
  by_steps.failed(2);
  CHECK_FALSE(by_steps.exhausted(2));
  by_steps.failed(3);
  CHECK(by_steps.exhausted(3));
}

TEST_CASE("the last save is tried three times when urged, and for its limit when not", "[save]") {
  LastSave urged(600, 0);
  CHECK(urged.again(true, 0));
  CHECK(urged.again(true, 0));
  CHECK_FALSE(urged.again(true, 0));

  LastSave calm(600, 0);
  CHECK(calm.again(false, 597));
  CHECK_FALSE(calm.again(false, 598));
  // A stop request that comes while it is tried again.
  CHECK(calm.again(true, 599));
}
