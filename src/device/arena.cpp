#include "device/arena.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep::device {

Arena::Arena(void* begin, std::size_t bytes) : begin_(static_cast<std::byte*>(begin)) {
  if (bytes >= alignment) add_gap(make_extent(0, bytes / alignment * alignment));
}

void* Arena::take(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(1, (bytes + alignment - 1) / alignment) * alignment;
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return nullptr;
  const auto [gap, offset] = *found;
  ByOffset::node_type rest;
  if (gap > size) rest = make_extent(offset + size, gap - size);
  // From here on nothing is allocated.
  ByOffset::node_type block = remove_gap(gaps_.find(offset));
  block.mapped().bytes = size;
  blocks_.insert(std::move(block));
  if (rest) add_gap(std::move(rest));
  return begin_ + offset;
}

void Arena::give_back(void* block) noexcept {
  ByOffset::node_type extent =
      blocks_.extract(static_cast<std::size_t>(static_cast<std::byte*>(block) - begin_));
  const auto after = gaps_.find(extent.key() + extent.mapped().bytes);
  if (after != gaps_.end()) extent.mapped().bytes += remove_gap(after).mapped().bytes;
  const auto next = gaps_.lower_bound(extent.key());
  if (next != gaps_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == extent.key()) {
      const std::size_t bytes = extent.mapped().bytes;
      extent = remove_gap(before);
      extent.mapped().bytes += bytes;
    }
  }
  add_gap(std::move(extent));
}

std::size_t Arena::largest_gap() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

Arena::ByOffset::node_type Arena::make_extent(std::size_t offset, std::size_t bytes) {
  BySize place{{bytes, offset}};
  ByOffset extent;
  extent[offset] = {bytes, place.extract(place.begin())};
  return extent.extract(extent.begin());
}

void Arena::add_gap(ByOffset::node_type extent) noexcept {
  BySize::node_type place = std::move(extent.mapped().place);
  place.value() = {extent.mapped().bytes, extent.key()};
  by_size_.insert(std::move(place));
  gaps_.insert(std::move(extent));
}

Arena::ByOffset::node_type Arena::remove_gap(ByOffset::iterator gap) noexcept {
  BySize::node_type place = by_size_.extract({gap->second.bytes, gap->first});
  ByOffset::node_type extent = gaps_.extract(gap);
  extent.mapped().place = std::move(place);
  return extent;
}

}  // namespace lockstep::device
