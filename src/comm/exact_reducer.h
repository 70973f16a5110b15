// The reducer behind ReduceMode::exact.
#pragma once

#include <array>
#include <vector>

#include "comm/reducer.h"

namespace lockstep::comm {

// Within the rank, gradients of neighbouring lanes are added as soon as both are there, like a binary
// counter, so that about log2(lanes) gradients are held, each where backward has written it. Across ranks,
// each rank owns a slice of every bucket: the others send it their remaining nodes' slices, it adds them in
// the tree's order, and the sums are gathered. All of it is done element by element: neither the cut into
// buckets nor that into slices can be seen in the result.
class ExactReducer final : public Reducer {
 public:
  ExactReducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
               std::span<const Slice> parameters, const ReducerOptions& options);

 private:
  struct Partial {
    TreeNode node;
    device::Tensor values;  // empty: no lane below the node has samples
  };
  // left += right
  struct Addition {
    device::Tensor left;
    device::Tensor right;
  };
  // A bucket whose nodes are on their way.
  struct Exchange {
    Pending pending;
    std::vector<Partial> parts;  // all ranks' nodes, this rank's slice of them
  };

  void prepare(std::span<const std::uint8_t> present) override;
  Place open(int lane, bool last) override;
  void close() override;
  void give_up() override;
  void start(std::size_t bucket) override;
  device::Tensor complete() override;

  void push(TreeNode node, const device::Tensor& values);
  void skip_to(int lane);
  void choose_target();
  Exchange exchange(std::size_t bucket);
  void gather(std::size_t bucket);
  device::Tensor add_up(TreeNode node, std::span<const Partial> parts, const void* favourite);
  device::Tensor take_buffer();
  device::Tensor room(std::size_t bucket);
  // Of a bucket that belongs to a rank: equal parts, and the last rank has the rest as well.
  Slice slice_of(const Slice& bucket, int rank) const;

  std::vector<device::Tensor> buffers_;  // whole gradients
  std::vector<device::Tensor> free_;     // of these
  std::vector<device::Tensor> rooms_;    // for what comes from others, used by turns
  std::vector<std::uint8_t> present_;
  std::vector<std::vector<TreeNode>> nodes_;  // by rank: what each is left with in this step
  int next_leaf_ = 0;
  std::vector<Partial> stack_;
  std::vector<Addition> additions_;  // that the newest lane has made possible, in order
  device::Tensor target_;            // where the sum goes; one of the buffers
  std::array<Exchange, 2> exchanges_;
  std::vector<Pending> gathers_;
};

}  // namespace lockstep::comm
