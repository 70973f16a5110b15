#include "comm/tree.h"

#include <algorithm>

namespace lockstep::comm {

LaneRange lanes_of(int rank, int size, int lanes) {
  const int share = lanes / size;
  const int rest = lanes % size;
  const int first = rank * share + std::min(rank, rest);
  return {first, first + share + (rank < rest ? 1 : 0)};
}

int tree_width(int lanes) {
  int width = 1;
  while (width < lanes) width *= 2;
  return width;
}

std::vector<TreeNode> block_nodes(int rank, int size, std::span<const std::uint8_t> present) {
  const int lanes = static_cast<int>(present.size());
  const LaneRange block = lanes_of(rank, size, lanes);
  const int edge = rank == size - 1 ? tree_width(lanes) : block.last;
  std::vector<TreeNode> nodes;
  for (int lane = block.first; lane < edge;) {
    // The largest node that begins at this lane and ends inside the block.
    int level = 0;
    while (lane % (2 << level) == 0 && lane + (2 << level) <= edge) ++level;
    const int end = lane + (1 << level);
    for (int leaf = lane; leaf < std::min(end, lanes); ++leaf) {
      if (present[static_cast<std::size_t>(leaf)] != 0) {
        nodes.push_back({level, lane >> level});
        break;
      }
    }
    lane = end;
  }
  return nodes;
}

double tree_sum(std::span<const double> values) {
  if (values.empty()) return 0.0;
  std::vector<double> level(values.begin(), values.end());
  while (level.size() > 1) {
    const std::size_t pairs = level.size() / 2;
    for (std::size_t i = 0; i < pairs; ++i) level[i] = level[2 * i] + level[2 * i + 1];
    if (level.size() % 2 == 1) level[pairs] = level.back();
    level.resize((level.size() + 1) / 2);
  }
  return level[0];
}

}  // namespace lockstep::comm
