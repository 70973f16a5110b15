#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "../unit/collective_checks.h"
#include "../unit/large_sums.h"
#include "comm/host_communicator.h"
#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "core/error.h"

using namespace collective_checks;
using lockstep::Error;
using lockstep::comm::Algorithm;
using lockstep::comm::HostCommunicator;
using lockstep::comm::HostCommunicatorOptions;
using lockstep::comm::make_mpi_transport;
using lockstep::comm::MpiGroup;

namespace {

std::string name_of(const MpiGroup& group, int rank) {
  return "rank " + std::to_string(rank) + " on " + group.host(rank);
}

}  // namespace

// A piece of 64 bytes cuts most messages, of 1 MiB none.
TEST_CASE("every collective over MPI has the known result", "[comm]") {
  const MpiGroup group(MPI_COMM_WORLD);
  const std::size_t piece = GENERATE(64, 1 << 20);
  const bool background = GENERATE(false, true);
  HostCommunicator comm(make_mpi_transport(group, piece), {});
  comm.set_background(background);
  check_all(comm, {DType::f32, DType::bf16, DType::f16}, {0, 1, 2, 15, 16, 17, 1001});
  const auto twin = comm.duplicate();
  twin->set_background(true);
  check_all(*twin, {DType::f32}, {5});
  comm.barrier();
  twin->barrier();
  CHECK(*group.waits() == 0);
}

TEST_CASE("the last rank makes no call over MPI: it is named, and learns of it when it comes", "[comm]") {
  MpiGroup group(MPI_COMM_WORLD);
  const int last = group.size() - 1;
  if (last == 0) return;
  const bool late = group.rank() == last;
  std::string text;
  {
    HostCommunicator comm(make_mpi_transport(group),
                          {.limit_seconds = late ? 3600 : 0.3, .grace_seconds = late ? 3600. : 2});
    group.barrier();  // the limit is for the call alone, not for the ranks' way to it
    if (late) group.barrier();
    text = failure_of([&] { comm.all_reduce(make_tensor(100000, DType::f32)).wait(); });
    if (!late) group.barrier();
  }
  CHECK_THAT(text, Catch::Contains("call 1 (all-reduce of 100000 f32)"));
  // Whom the first to give up waited for, is the algorithm's affair.
  CHECK_THAT(text, Catch::Contains("no word from rank ") && Catch::Contains(" within 0.3 s"));
  if (!late) CHECK_THAT(text, Catch::EndsWith("no answer from " + name_of(group, last)));
}

TEST_CASE("ranks that disagree about a call over MPI all say so", "[comm]") {
  const MpiGroup group(MPI_COMM_WORLD);
  if (group.size() == 1) return;
  const bool other = group.rank() == 1;
  const std::int64_t count = GENERATE(99, 101, 100);  // 100: another call
  HostCommunicator comm(make_mpi_transport(group, 128), {.limit_seconds = 0.3, .grace_seconds = 3600});
  const std::string text = failure_of([&] {
    if (other && count == 100) comm.broadcast(make_tensor(count, DType::f32), 0).wait();
    comm.all_reduce(make_tensor(other ? count : 100, DType::f32)).wait();
  });
  CHECK_THAT(text, Catch::Contains(name_of(group, other ? 0 : 1) + " is in call"));
}

// These need 6 GiB of memory on two ranks, with room for the messages 10 (test/README.md).
TEST_CASE("messages over MPI may be longer than 2^31 bytes", "[.large]") {
  const MpiGroup group(MPI_COMM_WORLD);
  HostCommunicator comm(make_mpi_transport(group), {});
  const Tensor data = make_tensor(2'300'000'001, DType::u8, 8);
  if (comm.rank() == 0) fill_bytes(data, 0);
  comm.broadcast(data, 0).wait();
  need_bytes(data, 0, data.bytes(), 0, "a long broadcast");
  need_spare_untouched(data, "a long broadcast");
}

TEST_CASE("sums over MPI may be longer than 2^31 bytes", "[.large]") {
  MpiGroup group(MPI_COMM_WORLD);
  for (const auto algorithm : {Algorithm::direct, Algorithm::ring, Algorithm::doubling, Algorithm::mpi}) {
    const auto enough =
        lockstep::comm::gather_values(group, large_sums::has_memory(algorithm, group.size()) ? 1 : 0);
    if (std::find(enough.begin(), enough.end(), 0) != enough.end()) {
      WARN("too little memory for sums by " << name_of(algorithm));
      continue;
    }
    HostCommunicator comm(make_mpi_transport(group), {.algorithm = algorithm});
    // The others have f32 alone: 16-bit sums go directly.
    const bool any_type = algorithm == Algorithm::direct || algorithm == Algorithm::doubling;
    large_sums::check(comm, DType::f32);
    if (any_type) large_sums::check(comm, DType::bf16);
  }
}

// For communicator_death.sh: rank 1 ends or stops in the middle of a run; the others tell what they see.
TEST_CASE("driver: rank 1 goes by LOCKSTEP_TEST_END", "[.driver]") {
  MpiGroup group(MPI_COMM_WORLD);
  const auto processes = lockstep::comm::gather_values(group, ::getpid());
  HostCommunicator comm(make_mpi_transport(group), {.limit_seconds = 1, .grace_seconds = 1});
  comm.set_background(true);
  group.barrier();
  if (comm.rank() == 1) {
    const std::string end = std::getenv("LOCKSTEP_TEST_END");
    if (end == "kill") ::raise(SIGKILL);
    if (end == "stop") ::raise(SIGSTOP);
    ::_exit(0);
  }
  const std::string text = failure_of([&] { comm.all_reduce(make_tensor(1000000, DType::f32)).wait(); });
  std::fprintf(stderr, "seen by %d: %s\n", comm.rank(), text.c_str());
  std::fflush(nullptr);
  // mpirun waits for one that stands still.
  if (comm.rank() == 0) ::kill(processes[1], SIGKILL);
  ::_exit(76);
}
