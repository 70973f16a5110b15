#include "comm/tree.h"

#include <catch2/catch.hpp>

using namespace lockstep::comm;

TEST_CASE("lanes are dealt evenly and in order", "[comm]") {
  for (int lanes = 1; lanes <= 17; ++lanes) {
    for (int size = 1; size <= lanes; ++size) {
      int next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto block = lanes_of(rank, size, lanes);
        CHECK(block.first == next);
        CHECK((block.count() == lanes / size || block.count() == lanes / size + 1));
        next = block.last;
      }
      CHECK(next == lanes);
    }
  }
  CHECK(lanes_of(0, 3, 8).count() == 3);
  CHECK(lanes_of(2, 3, 8).count() == 2);
}

TEST_CASE("a block's nodes are its largest subtrees with a value", "[comm]") {
  const std::vector<std::uint8_t> all(8, 1);
  CHECK(block_nodes(0, 1, all) == std::vector<TreeNode>{{3, 0}});
  // Ranks own lanes 0-2, 3-5, 6-7.
  CHECK(block_nodes(0, 3, all) == std::vector<TreeNode>{{1, 0}, {0, 2}});
  CHECK(block_nodes(1, 3, all) == std::vector<TreeNode>{{0, 3}, {1, 2}});
  CHECK(block_nodes(2, 3, all) == std::vector<TreeNode>{{1, 3}});
  const std::vector<std::uint8_t> some = {0, 0, 1, 0, 0, 1, 0, 0};
  CHECK(block_nodes(0, 3, some) == std::vector<TreeNode>{{0, 2}});
  CHECK(block_nodes(1, 3, some) == std::vector<TreeNode>{{1, 2}});
  CHECK(block_nodes(2, 3, some).empty());
  // The last block reaches to the edge of the tree: lanes 3-4 of 5 are nodes 3 and 4-7.
  CHECK(block_nodes(1, 2, std::vector<std::uint8_t>(5, 1)) == std::vector<TreeNode>{{0, 3}, {2, 1}});
}

TEST_CASE("sums follow the tree", "[comm]") {
  CHECK(tree_sum({}) == 0.0);
  CHECK(tree_sum(std::vector<double>{7}) == 7.0);
  // ((1 + 1e16) + (-1e16 + 1)) + 1: from left to right it would be 2.
  CHECK(tree_sum(std::vector<double>{1, 1e16, -1e16, 1, 1}) == ((1 + 1e16) + (-1e16 + 1)) + 1);
  CHECK(tree_width(1) == 1);
  CHECK(tree_width(5) == 8);
  CHECK(tree_width(8) == 8);
}
