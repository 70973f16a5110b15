// The one binary tree in which values of virtual workers ("lanes") are added (contract C2).
//
// Over `lanes` leaves: leaf v at level 0; node (level, index) covers leaves [index << level, (index + 1) <<
// level). A node is left + right; where one side has no value (no such lane, or a lane without samples) the
// node is the other side, untouched. So the result depends on the leaves alone, never on who holds them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/lane_range.h"

namespace lockstep::comm {

struct TreeNode {
  int level;
  std::int64_t index;
  bool operator==(const TreeNode&) const = default;
};

// Deals lanes 0 .. lanes-1 to `size` ranks in order, as evenly as possible: the first lanes % size ranks have
// one more. 1 <= size <= lanes.
LaneRange lanes_of(int rank, int size, int lanes);

// The number of leaves of the full tree: the next power of two.
int tree_width(int lanes);

// What a rank is left with once it has added all it can: the largest nodes that lie wholly in its block, left
// to right; only those with a value. The last rank's block reaches to the tree's edge. present[v] tells
// whether lane v has a value.
std::vector<TreeNode> block_nodes(int rank, int size, std::span<const std::uint8_t> present);

// The sum of one value per lane in the tree's order, all lanes present. 0 for no lanes.
double tree_sum(std::span<const double> values);

}  // namespace lockstep::comm
