// The reducer behind ReduceMode::exact.
#pragma once

#include "comm/reducer.h"

namespace lockstep::comm {

// Within the rank, gradients of neighbouring lanes are added as soon as both are there, like a binary
// counter, so that about log2(lanes) gradients are held. Across ranks, each rank owns a slice of the flat
// gradient: the others send it their remaining nodes' slices, it adds them in the tree's order, and the sums
// are gathered.
class ExactReducer final : public Reducer {
 public:
  ExactReducer(Group& comm, int lanes);

  bool wants_each_lane() const override { return true; }
  void begin_step() override;
  void add(int lane, Groups gradient) override;
  void finish(Groups gradient) override;

 private:
  using Buffer = std::vector<float>;
  struct Partial {
    TreeNode node;
    bool present;   // false: no lane below the node had a gradient
    Buffer values;  // empty if not present
  };
  // A node's values for the slice that this rank owns; empty for a node without a value.
  struct SlicePart {
    TreeNode node;
    std::span<float> values;
  };

  void push(TreeNode node, bool present, Buffer values);
  void skip_to(int lane);
  std::vector<std::uint8_t> gather_presence();
  std::vector<SlicePart> exchange_slices(const std::vector<std::uint8_t>& present);
  static std::span<float> add_up(TreeNode node, std::span<const SlicePart> parts);
  Buffer take_buffer();
  // Rank r owns floats [size * r / ranks, size * (r + 1) / ranks) of the flat gradient.
  std::size_t slice_begin(int rank) const;
  std::size_t slice_size(int rank) const;
  std::span<float> slice_of(std::span<float> flat, int rank) const;

  Group& comm_;
  int lanes_;
  LaneRange block_;
  int next_lane_;
  std::size_t size_ = 0;               // floats of a whole gradient, known from the first add() or finish()
  std::vector<std::int64_t> present_;  // per lane: 1 once it has brought a gradient
  std::vector<Partial> stack_;
  std::vector<Buffer> spare_;
  Buffer received_;
};

}  // namespace lockstep::comm
