#include "train/deadline.h"

#include <catch2/catch.hpp>

using lockstep::train::pause_before_asking;
using std::chrono::seconds;

TEST_CASE("the end time is asked for more often as it comes near", "[train]") {
  CHECK(pause_before_asking(std::nullopt) == seconds(120));
  CHECK(pause_before_asking(3600) == seconds(120));
  CHECK(pause_before_asking(480) == seconds(120));
  CHECK(pause_before_asking(60) == seconds(15));
  CHECK(pause_before_asking(20) == seconds(5));
  CHECK(pause_before_asking(-10) == seconds(5));
}
