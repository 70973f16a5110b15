// The lanes (virtual workers) of a rank.
#pragma once

namespace lockstep {

// A contiguous block of lanes [first, last).
struct LaneRange {
  int first = 0;
  int last = 0;
  int count() const { return last - first; }
};

}  // namespace lockstep
