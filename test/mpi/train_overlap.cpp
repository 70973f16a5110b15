#include "train/overlap.h"

#include <catch2/catch.hpp>

#include "comm/mpi_group.h"

using namespace lockstep;

TEST_CASE("both ways are tried by turns, and the ranks take the one that is faster on the whole", "[train]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const int ranks = comm.size();
  for (const bool faster : {true, false}) {
    train::Overlap overlap("auto", ranks);
    std::optional<std::string> found;
    std::int64_t with = 0;
    std::int64_t steps = 0;
    for (; ranks > 1 && !found; ++steps) {
      with += overlap.on() ? 1 : 0;
      // To rank 0 alone the other way seems better, and the first steps tell nothing.
      const bool seems = (comm.rank() == 0) != faster;
      const double gain = comm.rank() == 0 ? 0.01 : 0.1;
      double seconds = overlap.on() && seems ? 1 - gain : overlap.on() ? 1 + gain : 1;
      if (steps < train::Overlap::warm_up) seconds = overlap.on() == faster ? 1000 : 0;
      found = overlap.record({seconds, overlap.on() ? 0.1 : 0.4}, comm);
    }
    if (ranks > 1) {
      CHECK(steps == train::Overlap::warm_up + 2 * train::Overlap::measured);
      CHECK(with == steps / 2);
      CHECK_THAT(*found, Catch::Contains(faster ? "comm.overlap = on" : "comm.overlap = off") &&
                             Catch::Contains("75 % of the communication hidden"));
    }
    CHECK(overlap.on() == (faster && ranks > 1));
    CHECK_FALSE(overlap.record({1, 1}, comm));
  }
}

TEST_CASE("what is set is not tried", "[train]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  for (const bool on : {true, false}) {
    train::Overlap overlap(on ? "on" : "off", 2);
    CHECK(overlap.on() == on);
    CHECK_FALSE(overlap.record({1, 1}, comm));
    CHECK(overlap.on() == on);
    CHECK_FALSE(train::Overlap(on ? "on" : "auto", 1).on());
  }
}
