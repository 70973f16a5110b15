#include <catch2/catch.hpp>

#include <string>

#include "comm/mpi_transport.h"
#include "core/error.h"
#include "doctor/meeting.h"

using namespace lockstep;
using doctor::Meeting;

TEST_CASE("a meeting brings each rank's text to every rank") {
  const comm::MpiGroup group(MPI_COMM_WORLD);
  Meeting meeting(comm::make_mpi_transport(group), 60);
  const auto length = [](int rank) { return static_cast<std::size_t>(rank) * 70'000; };
  const auto texts =
      meeting.gather("a test", std::string(length(group.rank()), static_cast<char>('a' + group.rank())));
  REQUIRE(texts.size() == static_cast<std::size_t>(group.size()));
  for (int r = 0; r < group.size(); ++r) {
    CHECK(texts[static_cast<std::size_t>(r)] == std::string(length(r), static_cast<char>('a' + r)));
  }
  const auto again = meeting.gather("another", std::to_string(group.rank()));
  CHECK(again.back() == std::to_string(group.size() - 1));
}

TEST_CASE("a meeting names who does not come, to all who do") {
  comm::MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  Meeting meeting(comm::make_mpi_transport(group), 1.5);
  group.barrier();  // the limit is for this meeting alone, not for the ranks' way to it
  const int missing = group.size() - 1;
  if (group.rank() != missing) {
    try {
      meeting.gather("a test", "here");
      FAIL("nobody was missed");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::peer_failed);
      CHECK_THAT(error.what(), Catch::StartsWith("a test: no word from rank ") &&
                                   Catch::Contains("rank " + std::to_string(missing) + " on "));
      CHECK((dynamic_cast<const AgreedError*>(&error) != nullptr) == (group.rank() != 0));
    }
  }
  group.barrier();
}

TEST_CASE("a meeting does not wait for rank 0 for ever") {
  comm::MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  Meeting meeting(comm::make_mpi_transport(group), 0.1);
  if (group.rank() != 0) {
    CHECK_THROWS_WITH(meeting.gather("a test", "here"), Catch::Contains("has no word from rank 0 on "));
  }
  group.barrier();
}
