// The same tests run on every rank; the result is the worst over the ranks. Rank 0 reports as usual, another
// rank only when a test fails on it.
#define CATCH_CONFIG_RUNNER
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "core/files.h"

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto report = std::filesystem::temp_directory_path() / fmt::format("lockstep-mpi-test.{}", getpid());
  int mine = 0;
  {
    Catch::Session session;
    mine = session.applyCommandLine(argc, argv);
    if (rank != 0) session.configData().outputFilename = report.string();
    if (mine == 0) mine = session.run();
  }
  if (rank != 0) {
    if (mine != 0) fmt::print(stderr, "rank {}: {}\n", rank, lockstep::read_text(report).value_or(""));
    std::filesystem::remove(report);
  }
  int worst = 0;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
