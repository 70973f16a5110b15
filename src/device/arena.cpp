#include "device/arena.h"

#include <algorithm>
#include <iterator>

namespace lockstep::device {

Arena::Arena(void* begin, std::size_t bytes) : begin_(static_cast<std::byte*>(begin)) {
  if (bytes >= alignment) add_gap(0, bytes / alignment * alignment);
}

void* Arena::take(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(1, (bytes + alignment - 1) / alignment) * alignment;
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return nullptr;
  const auto [gap, offset] = *found;
  remove_gap(offset, gap);
  if (gap > size) add_gap(offset + size, gap - size);
  blocks_[offset] = size;
  return begin_ + offset;
}

void Arena::give_back(void* block) {
  const auto found = blocks_.find(static_cast<std::size_t>(static_cast<std::byte*>(block) - begin_));
  std::size_t offset = found->first;
  std::size_t size = found->second;
  blocks_.erase(found);
  const auto after = gaps_.find(offset + size);
  if (after != gaps_.end()) {
    size += after->second;
    remove_gap(after->first, after->second);
  }
  const auto next = gaps_.lower_bound(offset);
  if (next != gaps_.begin()) {
    const auto [before, bytes] = *std::prev(next);
    if (before + bytes == offset) {
      remove_gap(before, bytes);
      offset = before;
      size += bytes;
    }
  }
  add_gap(offset, size);
}

std::size_t Arena::largest_gap() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void Arena::add_gap(std::size_t offset, std::size_t bytes) {
  gaps_[offset] = bytes;
  by_size_.insert({bytes, offset});
}

void Arena::remove_gap(std::size_t offset, std::size_t bytes) {
  gaps_.erase(offset);
  by_size_.erase({bytes, offset});
}

}  // namespace lockstep::device
