// Those ranks of a transport that an algorithm runs on, and how data are cut among them.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/transport.h"

namespace lockstep::comm {

struct Team {
  Transport& transport;
  std::vector<int> ranks;  // in an order that all of them agree on
  int me;                  // place of the caller's rank in it

  int size() const { return static_cast<int>(ranks.size()); }
  // The rank at a place, counted round from 0.
  int rank_at(int place) const {
    const int size = this->size();
    return ranks[static_cast<std::size_t>((place % size + size) % size)];
  }
};

// Slice `index` of `pieces` nearly equal ones, on whole elements.
template <typename Bytes>
Bytes slice_of(Bytes all, std::size_t element, std::size_t index, std::size_t pieces) {
  const std::size_t elements = all.size() / element;
  const std::size_t begin = elements / pieces * index + elements % pieces * index / pieces;
  const std::size_t end = elements / pieces * (index + 1) + elements % pieces * (index + 1) / pieces;
  return all.subspan(begin * element, (end - begin) * element);
}

template <typename Bytes>
Bytes slice_of(Bytes all, std::size_t element, int index, int pieces) {
  return slice_of(all, element, static_cast<std::size_t>(index), static_cast<std::size_t>(pieces));
}

}  // namespace lockstep::comm
