#include "comm/exact_reducer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace lockstep::comm {

namespace {

std::size_t total(Reducer::Groups groups) {
  std::size_t floats = 0;
  for (const auto group : groups) floats += group.size();
  return floats;
}

void add_to(std::span<float> left, std::span<const float> right) {
  float* const to = left.data();
  const float* const from = right.data();
  const std::size_t count = left.size();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

bool is_below(TreeNode node, TreeNode ancestor) {
  return node.level <= ancestor.level && node.index >> (ancestor.level - node.level) == ancestor.index;
}

}  // namespace

ExactReducer::ExactReducer(Group& comm, int lanes)
    : comm_(comm),
      lanes_(lanes),
      block_(lanes_of(comm.rank(), comm.size(), lanes)),
      next_lane_(block_.first),
      present_(static_cast<std::size_t>(lanes)) {}

void ExactReducer::begin_step() {
  for (Partial& partial : stack_) {
    if (partial.present) spare_.push_back(std::move(partial.values));
  }
  stack_.clear();
  std::fill(present_.begin(), present_.end(), 0);
  next_lane_ = block_.first;
}

void ExactReducer::add(int lane, Groups gradient) {
  if (lane < next_lane_ || lane >= block_.last) {
    throw Error(ExitCode::internal, fmt::format("gradient of lane {} on rank {}, which expects {} to {}",
                                                lane, comm_.rank(), next_lane_, block_.last - 1));
  }
  size_ = total(gradient);
  skip_to(lane);
  Buffer values = take_buffer();
  auto to = values.begin();
  for (const auto group : gradient) to = std::copy(group.begin(), group.end(), to);
  push({0, lane}, true, std::move(values));
  present_[static_cast<std::size_t>(lane)] = 1;
  next_lane_ = lane + 1;
}

void ExactReducer::skip_to(int lane) {
  for (; next_lane_ < lane; ++next_lane_) push({0, next_lane_}, false, {});
}

// A right child finds its left sibling on top of the stack, unless the sibling is another rank's.
void ExactReducer::push(TreeNode node, bool present, Buffer values) {
  while (node.index % 2 == 1 && !stack_.empty() &&
         stack_.back().node == TreeNode{node.level, node.index - 1}) {
    Partial left = std::move(stack_.back());
    stack_.pop_back();
    if (left.present) {
      if (present) {
        add_to(left.values, values);
        spare_.push_back(std::move(values));
      }
      values = std::move(left.values);
      present = true;
    }
    node = {node.level + 1, node.index / 2};
  }
  stack_.push_back({node, present, std::move(values)});
}

void ExactReducer::finish(Groups gradient) {
  size_ = total(gradient);
  const bool last = comm_.rank() == comm_.size() - 1;
  const std::vector<std::uint8_t> present = gather_presence();
  skip_to(last ? tree_width(lanes_) : block_.last);
  std::erase_if(stack_, [](const Partial& partial) { return !partial.present; });

  const std::vector<SlicePart> parts = exchange_slices(present);
  int levels = 0;
  while ((1 << levels) < lanes_) ++levels;
  const std::span<float> sum = add_up({levels, 0}, parts);

  Buffer flat = take_buffer();
  const std::span<float> mine = slice_of(flat, comm_.rank());
  if (sum.empty()) {
    std::fill(mine.begin(), mine.end(), 0.0f);
  } else {
    std::copy(sum.begin(), sum.end(), mine.begin());
  }
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    counts.push_back(static_cast<std::int64_t>(slice_size(rank)));
  }
  comm_.all_gather_slices(flat, counts);
  auto from = flat.cbegin();
  for (const auto group : gradient) {
    std::copy_n(from, group.size(), group.begin());
    from += static_cast<std::ptrdiff_t>(group.size());
  }
  spare_.push_back(std::move(flat));
}

// Every rank must know which nodes the others hold: a lane without samples is skipped everywhere.
std::vector<std::uint8_t> ExactReducer::gather_presence() {
  comm_.all_reduce_max(present_);
  return {present_.begin(), present_.end()};
}

// Sends each peer its slice of this rank's nodes, and returns all ranks' nodes for the own slice.
std::vector<ExactReducer::SlicePart> ExactReducer::exchange_slices(const std::vector<std::uint8_t>& present) {
  const int me = comm_.rank();
  std::vector<std::vector<TreeNode>> nodes;
  std::size_t foreign = 0;
  for (int rank = 0; rank < comm_.size(); ++rank) {
    nodes.push_back(block_nodes(rank, comm_.size(), present));
    if (rank != me) foreign += nodes.back().size();
  }
  const std::size_t slice = slice_size(me);
  received_.resize(foreign * slice);

  std::vector<SlicePart> parts;
  std::vector<Group::Send> sends;
  std::vector<Group::Receive> receives;
  std::span<float> room(received_);
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (rank == me) {
      for (Partial& partial : stack_) parts.push_back({partial.node, slice_of(partial.values, me)});
      continue;
    }
    for (Partial& partial : stack_) {
      sends.push_back({rank, std::as_bytes(slice_of(partial.values, rank))});
    }
    for (const TreeNode node : nodes[static_cast<std::size_t>(rank)]) {
      parts.push_back({node, room.first(slice)});
      receives.push_back({rank, std::as_writable_bytes(room.first(slice))});
      room = room.subspan(slice);
    }
  }
  comm_.exchange(sends, receives);
  return parts;
}

// The sum lands in the memory of its leftmost part.
std::span<float> ExactReducer::add_up(TreeNode node, std::span<const SlicePart> parts) {
  bool any = false;
  for (const SlicePart& part : parts) {
    if (part.node == node) return part.values;
    any = any || is_below(part.node, node);
  }
  if (!any) return {};
  const std::span<float> left = add_up({node.level - 1, 2 * node.index}, parts);
  const std::span<float> right = add_up({node.level - 1, 2 * node.index + 1}, parts);
  if (left.empty()) return right;
  if (!right.empty()) add_to(left, right);
  return left;
}

ExactReducer::Buffer ExactReducer::take_buffer() {
  if (spare_.empty()) return Buffer(size_);
  Buffer buffer = std::move(spare_.back());
  spare_.pop_back();
  buffer.resize(size_);
  return buffer;
}

std::size_t ExactReducer::slice_begin(int rank) const {
  return size_ * static_cast<std::size_t>(rank) / static_cast<std::size_t>(comm_.size());
}

std::size_t ExactReducer::slice_size(int rank) const {
  return slice_begin(rank + 1) - slice_begin(rank);
}

std::span<float> ExactReducer::slice_of(std::span<float> flat, int rank) const {
  return flat.subspan(slice_begin(rank), slice_size(rank));
}

}  // namespace lockstep::comm
