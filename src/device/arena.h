// Divides one range of addresses into blocks. It never looks into the memory, which may be another device's.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace lockstep::device {

// Takes the smallest gap that is large enough, the first of several: the same calls give the same addresses.
// Blocks that are given back join with the gaps beside them. Not thread-safe.
class Arena {
 public:
  static constexpr std::size_t alignment = 256;

  // `begin` is a multiple of the alignment.
  Arena(void* begin, std::size_t bytes);

  // Aligned; null where no gap is large enough. No bytes are a block too.
  void* take(std::size_t bytes);
  // A block that take() has returned.
  void give_back(void* block);

  std::size_t largest_gap() const;

 private:
  void add_gap(std::size_t offset, std::size_t bytes);
  void remove_gap(std::size_t offset, std::size_t bytes);

  std::byte* begin_;
  std::map<std::size_t, std::size_t> blocks_;              // offset -> bytes
  std::map<std::size_t, std::size_t> gaps_;                // the same
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // gaps: bytes, offset
};

}  // namespace lockstep::device
