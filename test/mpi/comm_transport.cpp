// What MPI's transport leaves behind.
#include <sys/prctl.h>

#include <catch2/catch.hpp>
#include <vector>

#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "core/clock.h"
#include "core/error.h"

using lockstep::monotonic_seconds;
using lockstep::comm::make_mpi_transport;
using lockstep::comm::MpiGroup;

namespace {

int receives_until_failure = -1;

}  // namespace

// In MPI's place, for one failure.
extern "C" int MPI_Irecv(void* data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (receives_until_failure >= 0 && receives_until_failure-- == 0) return MPI_ERR_NO_MEM;
  return PMPI_Irecv(data, count, type, source, tag, comm, request);
}

TEST_CASE("a wait over MPI leaves the thread's timer slack alone", "[comm]") {
  MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const auto transport = make_mpi_transport(group);
  const int before = ::prctl(PR_GET_TIMERSLACK);
  const int peer = (group.rank() + 1) % group.size();
  std::vector<std::byte> room(1);
  const auto ticket = transport->receive((group.rank() + group.size() - 1) % group.size(), 1, room);
  CHECK(!transport->wait_until(ticket, monotonic_seconds()));
  CHECK(::prctl(PR_GET_TIMERSLACK) == before);
  group.barrier();
  const auto sent = transport->send(peer, 1, room);
  transport->wait(ticket, monotonic_seconds() + 60);
  transport->wait(sent, monotonic_seconds() + 60);
}

TEST_CASE("the first pieces of a message whose later ones cannot start are taken back", "[comm]") {
  MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  constexpr std::size_t piece = 64;
  constexpr int tag = 1, other_tag = 2;
  const auto transport = make_mpi_transport(group, piece);
  const std::vector<std::byte> data(piece / 2, std::byte{1});
  std::vector<std::byte> early(3 * piece), late(piece / 2), mark(1);
  if (group.rank() == 0) {
    receives_until_failure = 1;
    CHECK_THROWS_AS(transport->receive(1, tag, early), lockstep::Error);
    receives_until_failure = -1;
    const auto kept = transport->receive(1, other_tag, mark);
    transport->withdraw_all_but(other_tag);
    group.barrier();
    transport->wait(kept, monotonic_seconds() + 60);
    const auto ticket = transport->receive(1, tag, late);
    CHECK(transport->wait_until(ticket, monotonic_seconds() + 60));
    CHECK(late == data);
    CHECK(early == std::vector<std::byte>(3 * piece));
  } else {
    group.barrier();
  }
  if (group.rank() == 1) {
    const auto first = transport->send(0, other_tag, mark);
    const auto second = transport->send(0, tag, data);
    transport->wait(first, monotonic_seconds() + 60);
    transport->wait(second, monotonic_seconds() + 60);
  }
  group.barrier();
}
