#include "train/deadline.h"

#include <catch2/catch.hpp>

using namespace lockstep::train;
using namespace std::chrono_literals;

TEST_CASE("the end time is asked for more often as it comes near", "[train]") {
  CHECK(pause_before_asking(std::nullopt) == 120s);
  CHECK(pause_before_asking(3600) == 120s);
  CHECK(pause_before_asking(480) == 120s);
  CHECK(pause_before_asking(60) == 15s);
  CHECK(pause_before_asking(20) == 5s);
  CHECK(pause_before_asking(-10) == 5s);
}
