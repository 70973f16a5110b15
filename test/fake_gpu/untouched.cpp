#include "untouched.h"

#include <algorithm>

namespace fake_gpu {

namespace {

const char* first(const Access& access) {
  return static_cast<const char*>(access.address);
}

}  // namespace

void Untouched::keep(const char* begin, const char* end, std::span<const char> allocation) {
  if (begin < end) {
    pieces_.push_back({begin, {begin, end}, allocation});
  }
}

Untouched::Untouched(const std::vector<std::span<const char>>& memory, const std::vector<Access>& accesses) {
  std::vector<Access> written;
  std::copy_if(accesses.begin(), accesses.end(), std::back_inserter(written),
               [](const Access& access) { return access.kind != Access::read && access.bytes != 0; });
  std::sort(written.begin(), written.end(),
            [](const Access& a, const Access& b) { return first(a) < first(b); });
  for (const std::span<const char> allocation : memory) {
    const char* const end = allocation.data() + allocation.size();
    const char* begin = allocation.data();
    for (const Access& access : written) {
      if (first(access) < end && first(access) + access.bytes > begin) {
        keep(begin, first(access), allocation);
        begin = first(access) + access.bytes;
      }
    }
    keep(begin, end, allocation);
  }
}

std::string Untouched::change() const {
  for (const Piece& piece : pieces_) {
    const auto [kept, seen] = std::mismatch(piece.bytes.begin(), piece.bytes.end(), piece.place);
    if (kept != piece.bytes.end()) {
      return "has changed byte " + std::to_string(seen - piece.allocation.data()) + " of an allocation of " +
             std::to_string(piece.allocation.size()) + " bytes, which it did not say that it writes";
    }
  }
  return "";
}

}  // namespace fake_gpu
