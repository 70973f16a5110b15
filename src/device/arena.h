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

  // Aligned; null where no gap is large enough. No bytes are a block too. Throws std::bad_alloc where the
  // host has no memory for the books; nothing has changed then.
  void* take(std::size_t bytes);
  // A block that take() has returned. Allocates nothing: it happens in destructors.
  void give_back(void* block) noexcept;

  std::size_t largest_gap() const;

 private:
  using BySize = std::set<std::pair<std::size_t, std::size_t>>;  // bytes, offset
  struct Extent {
    std::size_t bytes = 0;
    BySize::node_type place;  // of a block: what it will need when it is a gap
  };
  using ByOffset = std::map<std::size_t, Extent>;

  // Not in the books yet, with all that they need for it.
  static ByOffset::node_type make_extent(std::size_t offset, std::size_t bytes);
  void add_gap(ByOffset::node_type extent) noexcept;
  ByOffset::node_type remove_gap(ByOffset::iterator gap) noexcept;

  std::byte* begin_;
  ByOffset blocks_;
  ByOffset gaps_;
  BySize by_size_;  // the gaps
};

}  // namespace lockstep::device
