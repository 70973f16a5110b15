// How the ranks of a new fake NCCL communicator find each other: each tells the one that made the unique id
// who it is, and gets the list of all.
#pragma once

#include <mpi.h>
#include <nccl.h>

#include <array>
#include <vector>

#include "nccl_exchange.h"

namespace fake_gpu::nccl {

// What is in a unique id.
struct Place {
  std::array<char, 16> mark{};  // tells an id from any other bytes
  int root = 0;                 // rank in MPI_COMM_WORLD
  int number = 0;               // of the ids of this root
};
Place new_place();
ncclUniqueId to_id(const Place& place);
// Dies for anything else than an id.
Place from_id(const ncclUniqueId& id);

class Meeting {
 public:
  Meeting(const Place& place, int rank, int size);
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Never blocks. True: line() is complete.
  bool poll();
  const Line& line() const { return line_; }
  // Whether another rank of the communicator has the same device, which the real library refuses.
  bool shares_device() const;

 private:
  struct Hello {
    int rank = 0;
    int size = 0;
    int world = 0;
    std::array<char, 116> device{};  // node and PCI address
  };
  void note(const Hello& hello);

  int root_;
  int tag_;
  Line line_;
  Hello mine_;
  Hello coming_;
  std::vector<Hello> all_;  // by rank; a place is free where the size is 0
  int missing_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> tellings_;
};

}  // namespace fake_gpu::nccl
