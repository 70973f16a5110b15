// Messages between the ranks of a fake NCCL communicator, over MPI point-to-point. Each message goes behind a
// header that says which call it belongs to; ranks whose calls differ are found out by it.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace fake_gpu::nccl {

// How the ranks of a communicator reach each other: by their ranks in MPI_COMM_WORLD, and a tag that no other
// communicator has. The program's own messages travel on duplicates of MPI_COMM_WORLD.
struct Line {
  int rank = 0;
  std::vector<int> world;
  int tag = 0;

  int size() const { return static_cast<int>(world.size()); }
};

// A call as its ranks compare it.
struct Call {
  std::int64_t number = 0;  // of the collectives of a communicator; of the messages from one rank to another
  std::array<char, 24> kind{};
  std::uint64_t count = 0;
  std::int32_t type = 0;   // ncclDataType_t
  std::int32_t other = 0;  // root or, of all-reduce and reduce-scatter, the operation
};

Call make_call(std::int64_t number, const std::string& kind, std::size_t count, int type, int other);
// The last one, behind `number` others.
Call make_parting(std::int64_t number);
bool is_parting(const Call& call);
std::string text_of(const Call& call);

class Exchange {
 public:
  explicit Exchange(Line line);
  // What is still under way stays in memory: MPI may write there.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Before the first poll(). Messages from one rank to another match in the order of these calls.
  void send(int peer, const Call& call, const void* data, std::size_t bytes);
  void receive(int peer, const Call& call, void* data, std::size_t bytes);

  // Never blocks. True: all is there, and what was sent is on its way for good. Dies where the other side
  // makes another call. With the fault "ncclMismatch:N:stall" it does what the real library does: it never
  // comes to an end. So it does where one side goes and the other has one more call: that one may be aborted.
  bool poll();

 private:
  struct Out;
  struct In;
  void start();
  bool receive_next(std::deque<In>& from_one);

  Line line_;
  bool started_ = false;
  bool mismatch_ = false;
  std::deque<Out> out_;
  std::vector<std::deque<In>> in_;  // by sender
};

}  // namespace fake_gpu::nccl
