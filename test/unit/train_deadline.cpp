#include "train/deadline.h"

#include <catch2/catch.hpp>

using lockstep::slurm::Allocation;
using lockstep::train::Deadline;
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

TEST_CASE("only the rank that asks goes by the clock", "[train]") {
  Allocation allocation;
  allocation.end_time = 1;  // long ago, and perhaps extended since
  const Deadline asking(allocation, true);
  CHECK(asking.end_time() == 1);
  CHECK(asking.near(0, 0));
  const Deadline other(allocation, false);
  CHECK_FALSE(other.end_time());
  CHECK_FALSE(other.near(0, 0));
}
