// exchange BYTES: every rank adds its number to a sum, then rank 0 sends BYTES to the last rank and waits for
// its answer. Rank 0 prints the sum and how many milliseconds the second part took.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  std::vector<char> bytes(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0);
  const int count = static_cast<int>(bytes.size());
  const int last = size - 1;
  char answer = 0;
  const double begin = MPI_Wtime();
  if (rank == 0) {
    MPI_Send(bytes.data(), count, MPI_CHAR, last, 0, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::printf("sum %d, %d ms\n", sum, static_cast<int>((MPI_Wtime() - begin) * 1000));
  } else if (rank == last) {
    MPI_Recv(bytes.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&answer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
