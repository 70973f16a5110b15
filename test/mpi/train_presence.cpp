#include "train/presence.h"

#include <catch2/catch.hpp>
#include <string>

#include "comm/agreement.h"
#include "comm/mpi_group.h"
#include "shared_folder.h"

using namespace lockstep;
using train::watch_next_rank;

TEST_CASE("ranks that see each other's locks watch each other", "[presence]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto next_is_gone = watch_next_rank(comm, folder.path() / "watch");
  REQUIRE(static_cast<bool>(next_is_gone) == (comm.size() > 1));
  if (next_is_gone) CHECK_FALSE(next_is_gone());
  comm.barrier();  // while all hold their places
}

// As where a node keeps locks to itself: each rank gets its lock, and one sees nothing of the others'.
TEST_CASE("one rank that sees no other's lock is enough for none to watch", "[presence]") {
  comm::MpiGroup comm(MPI_COMM_WORLD);
  const SharedFolder folder(comm);
  const auto mine = folder.path() / (comm.rank() == comm.size() - 1 ? "far" : "near");
  CHECK_FALSE(static_cast<bool>(watch_next_rank(comm, mine)));
  comm.barrier();
}
