#include "comm/exact_reducer.h"

#include <algorithm>

namespace lockstep::comm {

namespace {

device::Tensor part_of(const device::Tensor& flat, const Slice& part) {
  return flat.slice(part.first, {part.count});
}

bool is_below(TreeNode node, TreeNode ancestor) {
  return node.level <= ancestor.level && node.index >> (ancestor.level - node.level) == ancestor.index;
}

TreeNode root_of(int lanes) {
  TreeNode root{0, 0};
  while ((1 << root.level) < lanes) ++root.level;
  return root;
}

}  // namespace

ExactReducer::ExactReducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
                           std::span<const Slice> parameters, const ReducerOptions& options)
    : Reducer(comm, device, gradient, parameters, options), buffers_{gradient} {
  comm_.announce(gradient);
}

void ExactReducer::prepare(std::span<const std::uint8_t> present) {
  free_ = buffers_;
  stack_.clear();
  additions_.clear();
  gathers_.clear();
  next_leaf_ = block_.first;
  if (std::equal(present.begin(), present.end(), present_.begin(), present_.end())) return;
  present_.assign(present.begin(), present.end());
  nodes_.clear();
  for (int rank = 0; rank < comm_.size(); ++rank) {
    nodes_.push_back(block_nodes(rank, comm_.size(), present_));
  }
}

// Which sums a lane makes possible is known before its gradient is: with the last lane's, the whole tree of
// this rank is laid out before the first bucket is complete.
Reducer::Place ExactReducer::open(int lane, bool last) {
  const device::Tensor buffer = take_buffer();
  skip_to(lane);
  push({0, lane}, buffer);
  next_leaf_ = lane + 1;
  if (last) {
    skip_to(comm_.rank() == comm_.size() - 1 ? tree_width(lanes_) : block_.last);
    choose_target();
  }
  return {buffer, false};
}

void ExactReducer::close() {
  if (additions_.empty()) return;
  const Span span(trace_, "add to the tree", "reduction");
  for (const Addition& addition : additions_) {
    device_.axpy(1.f, addition.right, addition.left);
    free_.push_back(addition.right);
  }
  additions_.clear();
}

void ExactReducer::give_up() {
  stack_.clear();
  additions_.clear();
  const device::Tensor zeros = take_buffer();
  device_.fill(0.f, zeros);
  for (const TreeNode node : nodes_[static_cast<std::size_t>(comm_.rank())]) stack_.push_back({node, zeros});
  choose_target();
}

void ExactReducer::skip_to(int lane) {
  for (; next_leaf_ < lane; ++next_leaf_) push({0, next_leaf_}, {});
}

// A right child finds its left sibling on top of the stack, unless the sibling is another rank's.
void ExactReducer::push(TreeNode node, const device::Tensor& values) {
  device::Tensor sum = values;
  while (node.index % 2 == 1 && !stack_.empty() &&
         stack_.back().node == TreeNode{node.level, node.index - 1}) {
    const device::Tensor left = stack_.back().values;
    stack_.pop_back();
    if (left) {
      if (sum) additions_.push_back({left, sum});
      sum = left;
    }
    node = {node.level + 1, node.index / 2};
  }
  stack_.push_back({node, sum});
}

void ExactReducer::choose_target() {
  std::erase_if(stack_, [](const Partial& partial) { return !partial.values; });
  target_ = stack_.empty() ? take_buffer() : stack_.front().values;
}

// Two buckets are under way: while the nodes of one travel, those of the one before are added and go round.
// All ranks make the same calls in the same order, whatever has arrived.
void ExactReducer::start(std::size_t bucket) {
  const Slice& part = plan_.buckets()[bucket];
  if (bucket == 0 && stack_.empty()) choose_target();
  if (!additions_.empty()) {
    const Span span(trace_, "add to the tree", "reduction");
    for (const Addition& addition : additions_) {
      device_.axpy(1.f, part_of(addition.right, part), part_of(addition.left, part));
    }
  }
  if (comm_.size() == 1) {
    if (stack_.empty()) device_.fill(0.f, part_of(target_, part));
    return;
  }
  exchanges_[bucket % 2] = exchange(bucket);
  if (bucket > 0) gather(bucket - 1);
}

device::Tensor ExactReducer::complete() {
  const std::size_t buckets = plan_.buckets().size();
  if (buckets == 0) return buffers_.front();
  if (comm_.size() > 1) gather(buckets - 1);
  for (Pending& pending : gathers_) wait(pending);
  return target_;
}

// Sends each peer its slice of this rank's nodes, and gets all ranks' nodes for the own slice.
ExactReducer::Exchange ExactReducer::exchange(std::size_t bucket) {
  const Slice& whole = plan_.buckets()[bucket];
  const int me = comm_.rank();
  const Slice mine = slice_of(whole, me);
  const device::Tensor memory = room(bucket);
  std::int64_t used = 0;
  Exchange result;
  std::vector<Communicator::Message> sends;
  std::vector<Communicator::Message> receives;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == me) {
      for (const Partial& own : stack_) result.parts.push_back({own.node, part_of(own.values, mine)});
      continue;
    }
    for (const Partial& own : stack_) {
      sends.push_back({rank, part_of(own.values, slice_of(whole, rank))});
    }
    for (const TreeNode node : nodes_[static_cast<std::size_t>(rank)]) {
      const device::Tensor values = part_of(memory, {used, mine.count});
      used += mine.count;
      result.parts.push_back({node, values});
      receives.push_back({rank, values});
    }
  }
  result.pending = comm_.exchange(sends, receives);
  return result;
}

void ExactReducer::gather(std::size_t bucket) {
  const Slice& whole = plan_.buckets()[bucket];
  const Slice mine = slice_of(whole, comm_.rank());
  Exchange& arrived = exchanges_[bucket % 2];
  wait(arrived.pending);
  const device::Tensor target = part_of(target_, mine);
  const device::Tensor sum = add_up(root_of(lanes_), arrived.parts, target.data());
  if (!sum) {
    device_.fill(0.f, target);
  } else if (sum.data() != target.data()) {
    device_.copy(sum, target);
  }
  const std::int64_t equal = whole.count / comm_.size();
  const std::int64_t equal_parts = equal * comm_.size();
  if (equal > 0) {
    gathers_.push_back(comm_.all_gather(part_of(target_, {mine.first, equal}),
                                        part_of(target_, {whole.first, equal_parts})));
  }
  if (equal_parts < whole.count) {
    const Slice rest{whole.first + equal_parts, whole.count - equal_parts};
    gathers_.push_back(comm_.broadcast(part_of(target_, rest), comm_.size() - 1));
  }
}

// The sum lands in the memory of one of its parts, in `favourite` where that is one of the two: a + b and
// b + a are the same.
device::Tensor ExactReducer::add_up(TreeNode node, std::span<const Partial> parts, const void* favourite) {
  bool any = false;
  for (const Partial& part : parts) {
    if (part.node == node) return part.values;
    any = any || is_below(part.node, node);
  }
  if (!any) return {};
  device::Tensor left = add_up({node.level - 1, 2 * node.index}, parts, favourite);
  device::Tensor right = add_up({node.level - 1, 2 * node.index + 1}, parts, favourite);
  if (!left) return right;
  if (!right) return left;
  const bool into_right = right.data() == favourite;
  const device::Tensor& sum = into_right ? right : left;
  device_.axpy(1.f, into_right ? left : right, sum);
  return sum;
}

device::Tensor ExactReducer::take_buffer() {
  if (free_.empty()) {
    buffers_.push_back(device_.zeros(buffers_.front().shape()));
    comm_.announce(buffers_.back());
    return buffers_.back();
  }
  device::Tensor buffer = free_.back();
  free_.pop_back();
  return buffer;
}

// Large enough for the nodes that the others have when all lanes have samples.
device::Tensor ExactReducer::room(std::size_t bucket) {
  if (rooms_.empty()) {
    const std::vector<std::uint8_t> all(static_cast<std::size_t>(lanes_), 1);
    std::int64_t slices = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank != comm_.rank()) {
        slices += static_cast<std::int64_t>(block_nodes(rank, comm_.size(), all).size());
      }
    }
    std::int64_t largest = 0;
    for (const Slice& each : plan_.buckets()) largest = std::max(largest, slice_of(each, comm_.rank()).count);
    for (std::size_t i = 0; i < exchanges_.size(); ++i) {
      rooms_.push_back(device_.empty({slices * largest}));
      comm_.announce(rooms_.back());
    }
  }
  return rooms_[bucket % rooms_.size()];
}

Slice ExactReducer::slice_of(const Slice& bucket, int rank) const {
  const std::int64_t equal = bucket.count / comm_.size();
  const bool last = rank == comm_.size() - 1;
  return {bucket.first + rank * equal, last ? bucket.count - rank * equal : equal};
}

}  // namespace lockstep::comm
