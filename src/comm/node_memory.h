// Memory that the ranks of a node share. It belongs to no file system: nothing of it is left when its ranks
// are gone, however they end.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/transport.h"

namespace lockstep::comm {

class NodeMemory {
 public:
  static constexpr std::size_t room_bytes = std::size_t{512} << 10;

  // `mine` are the ranks of the caller's node, in order. Collective over all ranks of the transport. Null on
  // all ranks where on any node one rank cannot see another's memory, as in containers that hide processes.
  static std::unique_ptr<NodeMemory> make(Transport& transport, const std::vector<int>& mine,
                                          double deadline);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  // What the local-th rank of the node writes before a meeting and all of them read after it, up to the next:
  // room_bytes, aligned to pages. There are two in turn: whoever comes to write one again knows from the
  // meeting between that nobody reads it any more. `meeting` counts from 0.
  std::span<std::byte> room(int local, std::size_t meeting);
  std::size_t next_meeting() const { return meetings_; }
  int local() const { return local_; }  // of the caller
  int locals() const { return static_cast<int>(mine_.size()); }

  // A barrier of the node's ranks: what they wrote before it, all see after it.
  void meet(double deadline);

 private:
  struct Where;
  NodeMemory(Transport& transport, const std::vector<int>& mine);
  bool open(const Where& where);
  bool create(Where& where);
  bool map(int file);

  Transport& transport_;
  std::vector<int> mine_;
  int local_ = 0;
  std::byte* memory_ = nullptr;  // mapped: unmapped by the destructor
  std::size_t bytes_ = 0;
  std::size_t meetings_ = 0;
};

}  // namespace lockstep::comm
