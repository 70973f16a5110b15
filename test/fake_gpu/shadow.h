// Who touched which bytes of an allocation last: finds work that no event and no synchronisation orders.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "clock.h"
#include "emulated_kernels.h"

namespace fake_gpu {

class Shadow {
 public:
  explicit Shadow(std::size_t bytes);

  // Notes the access to bytes [begin, end) by the work `stamp`, which comes after what `clock` covers.
  // Returns
  // "", or what races with it in words.
  std::string touch(std::size_t begin, std::size_t end, Access::Kind kind, const Stamp& stamp,
                    const Clock& clock);

 private:
  struct Segment {
    std::size_t end;
    Stamp write;               // of number 0: none yet
    std::vector<Stamp> reads;  // since then, the last of each stream
  };

  void split(std::size_t at);

  std::map<std::size_t, Segment> segments_;  // by their first byte; they cover the allocation without gaps
};

}  // namespace fake_gpu
