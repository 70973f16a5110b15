// Parts of the world, so that one mpirun compares several numbers of ranks.
#pragma once

#include <memory>

#include "comm/mpi_group.h"

// The first `count` ranks of the world; null on the others.
inline std::unique_ptr<lockstep::comm::MpiGroup> first_ranks(int count) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &part);
  if (part == MPI_COMM_NULL) return nullptr;
  auto result = std::make_unique<lockstep::comm::MpiGroup>(part);
  MPI_Comm_free(&part);
  return result;
}

inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
