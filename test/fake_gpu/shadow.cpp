#include "shadow.h"

#include <algorithm>

namespace fake_gpu {

Shadow::Shadow(std::size_t bytes) {
  segments_.insert({0, {bytes, {}, {}}});
}

void Shadow::split(std::size_t at) {
  auto next = segments_.lower_bound(at);
  if ((next != segments_.end() && next->first == at) || next == segments_.begin()) {
    return;
  }
  auto& [begin, segment] = *std::prev(next);
  if (at < segment.end) {
    Segment tail = segment;
    segment.end = at;
    segments_.insert(next, {at, std::move(tail)});
  }
}

std::string Shadow::touch(std::size_t begin, std::size_t end, Access::Kind kind, const Stamp& stamp,
                          const Clock& clock) {
  split(begin);
  split(end);
  const auto first = segments_.find(begin);
  const auto last = segments_.lower_bound(end);
  const bool writes = kind != Access::read;
  for (auto place = first; place != last; ++place) {
    const Segment& segment = place->second;
    const std::string bytes =
        "bytes " + std::to_string(place->first) + " to " + std::to_string(segment.end - 1);
    if (segment.write.number != 0 && !clock.covers(segment.write)) {
      return (writes ? "writes " : "reads ") + bytes + ", which " + *segment.write.what + " writes";
    }
    for (const Stamp& read : segment.reads) {
      if (writes && !clock.covers(read)) {
        return "writes " + bytes + ", which " + *read.what + " reads";
      }
    }
  }
  if (writes) {
    segments_.erase(first, last);
    segments_.insert({begin, {end, stamp, {}}});
    return "";
  }
  for (auto place = first; place != last; ++place) {
    std::vector<Stamp>& reads = place->second.reads;
    const auto own = std::find_if(reads.begin(), reads.end(),
                                  [&](const Stamp& read) { return read.stream == stamp.stream; });
    if (own == reads.end()) {
      reads.push_back(stamp);
    } else {
      *own = stamp;
    }
  }
  return "";
}

}  // namespace fake_gpu
