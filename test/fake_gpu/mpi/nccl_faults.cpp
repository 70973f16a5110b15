// For nccl_faults.sh: ranks that sum until something happens to one of them, and tell what they see.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../../unit/ranks.h"
#include "core/error.h"
#include "gpu_rank.h"

using namespace lockstep;

namespace {

// What LOCKSTEP_TEST_END says that this rank does instead of its third sum.
std::string end_of(int rank) {
  const char* end = std::getenv("LOCKSTEP_TEST_END");
  return rank == 1 && end != nullptr ? end : "";
}

[[noreturn]] void leave(const std::vector<pid_t>& processes) {
  std::fflush(nullptr);
  // mpirun waits for one that stands still.
  if (end_of(1) == "stop") ::kill(processes[1], SIGKILL);
  ::_exit(76);
}

}  // namespace

TEST_CASE("driver: sums go on until one fails", "[.driver]") {
  comm::MpiGroup group(MPI_COMM_WORLD);
  const auto processes = comm::gather_values(group, ::getpid());
  const auto device = open_gpu();
  const device::Tensor data = device->zeros({1000});
  try {
    const auto comm = open_nccl(group, *device, {.limit_seconds = 2, .start_seconds = 2, .grace_seconds = 2});
    comm->announce(data);
    device->fill(1.f, data);
    for (int call = 1; call <= 5; ++call) {
      const std::string end = call == 3 ? end_of(group.rank()) : "";
      if (end == "kill") ::raise(SIGKILL);
      if (end == "stop") ::raise(SIGSTOP);
      if (end == "tell") comm->tell("the memory is full");
      comm->all_reduce(end == "other size" ? data.slice(0, {999}) : data).wait();
      device->synchronise();
    }
    std::fprintf(stderr, "seen by %d: no failure\n", group.rank());
  } catch (const Error& error) {
    std::fprintf(stderr, "seen by %d: code %d: %s\n", group.rank(), static_cast<int>(error.code()),
                 error.what());
  }
  leave(processes);
}
