// Which algorithm sums how many bytes: from a table that was measured (docs/performance.md), by data that are
// the same on every rank, so that all choose alike without a message.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/tensor.h"

namespace lockstep::comm {

enum class Algorithm {
  automatic,
  ring,      // segments go round twice; f32 (16-bit sums are rounded once: they go by `direct`)
  direct,    // each rank adds a slice of everybody's, in rank order, and hands it out
  doubling,  // everything, log2(ranks) times
  mpi,       // the library's own MPI_Allreduce, as a baseline: f32, no time limit but the watchdog's
};

inline constexpr std::array algorithms{Algorithm::automatic, Algorithm::ring, Algorithm::direct,
                                       Algorithm::doubling, Algorithm::mpi};

// As in comm.algorithm.
std::string_view name_of(Algorithm algorithm);
std::optional<Algorithm> algorithm_named(std::string_view text);

// Where the ranks of a communicator are.
struct Places {
  std::vector<int> node;  // of each rank; nodes are numbered in the order in which they appear

  int ranks() const { return static_cast<int>(node.size()); }
  int nodes() const;
  // The least number of ranks that a node has.
  int ranks_per_node() const;
};

Places places_of(std::span<const std::string> hosts);

struct Choice {
  std::size_t bytes;    // from this size on
  Algorithm algorithm;  // never automatic
  bool two_levels;      // first within each node, through memory that its ranks share
};

// What comm.algorithm = auto does, by size, smallest first; the first one's size is 0.
std::vector<Choice> choices(const Places& places, device::DType dtype);

// For data of `bytes`. Two levels are only a wish: where nodes cannot share memory there is one.
Choice choose(Algorithm wanted, const Places& places, device::DType dtype, std::size_t bytes);

}  // namespace lockstep::comm
