#include "comm/two_levels.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "comm/room.h"
#include "comm/sum.h"
#include "device/half.h"

namespace lockstep::comm {

namespace {

// The ranks that drive slice `slice` between the nodes.
Team drivers(Transport& transport, const Places& places, int slice) {
  Team team{transport, std::vector<int>(static_cast<std::size_t>(places.nodes())), 0};
  std::vector<int> seen(team.ranks.size());
  for (int rank = 0; rank < places.ranks(); ++rank) {
    const auto node = static_cast<std::size_t>(places.node[static_cast<std::size_t>(rank)]);
    if (seen[node]++ == slice) team.ranks[node] = rank;
  }
  team.me = places.node[static_cast<std::size_t>(transport.rank())];
  return team;
}

class NodeSum {
 public:
  NodeSum(NodeMemory& memory, int slices, device::DType dtype, std::span<std::byte> data, double deadline)
      : memory_(memory),
        slices_(slices),
        dtype_(dtype),
        element_(size_of(dtype)),
        data_(data),
        deadline_(deadline),
        piece_(NodeMemory::room_bytes / static_cast<std::size_t>(slices) / element_ * element_),
        largest_((data.size() / element_ / static_cast<std::size_t>(slices) + 1) * element_) {}

  bool drives() const { return memory_.local() < slices_; }
  std::span<std::byte> my_slice() const { return slice_of(data_, element_, memory_.local(), slices_); }

  // The sum over the node of the caller's slice, in f32.
  void gather(std::span<float> sum) {
    for (std::size_t first = 0; first < largest_; first += piece_) {
      const std::size_t meeting = memory_.next_meeting();
      for (int slice = 0; slice < slices_; ++slice) {
        if (slice == memory_.local()) continue;
        const auto part = piece_of(slice, first);
        std::copy(part.begin(), part.end(), place(memory_.local(), slice, meeting));
      }
      memory_.meet(deadline_);
      if (drives()) add_up(first, sum, meeting);
    }
  }

  // The caller's slice, from f32, to all ranks of the node; theirs from them.
  void hand_out(std::span<const float> sum) {
    for (std::size_t first = 0; first < largest_; first += piece_) {
      const std::size_t meeting = memory_.next_meeting();
      if (drives()) {
        const auto part = piece_of(memory_.local(), first);
        narrow(dtype_, sum.data() + first / element_, place(memory_.local(), 0, meeting),
               part.size() / element_);
        std::copy_n(place(memory_.local(), 0, meeting), part.size(), part.begin());
      }
      memory_.meet(deadline_);
      for (int slice = 0; slice < slices_; ++slice) {
        if (slice == memory_.local()) continue;
        const auto part = piece_of(slice, first);
        std::copy_n(place(slice, 0, meeting), part.size(), part.begin());
      }
    }
  }

 private:
  std::span<std::byte> piece_of(int slice, std::size_t first) const {
    const auto all = slice_of(data_, element_, slice, slices_);
    const std::size_t begin = std::min(first, all.size());
    return all.subspan(begin, std::min(piece_, all.size() - begin));
  }

  std::byte* place(int local, int slice, std::size_t meeting) {
    return memory_.room(local, meeting).data() + static_cast<std::size_t>(slice) * piece_;
  }

  void add_up(std::size_t first, std::span<float> sum, std::size_t meeting) {
    const int me = memory_.local();
    const auto part = piece_of(me, first);
    if (part.empty()) return;
    std::vector<const std::byte*> terms;
    for (int local = 0; local < memory_.locals(); ++local) {
      terms.push_back(local == me ? part.data() : place(local, me, meeting));
    }
    sum_in_order_f32(dtype_, terms, sum.data() + first / element_, part.size() / element_);
  }

  NodeMemory& memory_;
  int slices_;
  device::DType dtype_;
  std::size_t element_;
  std::span<std::byte> data_;
  double deadline_;
  std::size_t piece_;    // bytes of a slice that a room holds
  std::size_t largest_;  // bytes of a slice, at most: all ranks of a node meet equally often
};

}  // namespace

void two_level_all_reduce(Transport& transport, NodeMemory& memory, const Places& places, device::DType dtype,
                          std::span<std::byte> data, const RingFlow& flow, double deadline) {
  NodeSum node(memory, places.ranks_per_node(), dtype, data, deadline);
  std::optional<RoomFor<float>> wide;
  std::span<float> sum;
  if (node.drives()) {
    const auto slice = node.my_slice();
    if (dtype == device::DType::f32) {
      sum = {reinterpret_cast<float*>(slice.data()), slice.size() / sizeof(float)};
    } else {
      sum = wide.emplace(transport, slice.size() / size_of(dtype)).values();
    }
  }
  node.gather(sum);
  if (node.drives()) {
    ring_all_reduce(drivers(transport, places, memory.local()), std::as_writable_bytes(sum), flow, deadline);
  }
  node.hand_out(sum);
}

}  // namespace lockstep::comm
