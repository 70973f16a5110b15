// Vector clocks: what is known to come before what.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fake_gpu {

// A piece of work: the number-th of its stream.
struct Stamp {
  std::size_t stream = 0;
  std::uint64_t number = 0;
  std::shared_ptr<const std::string> what;  // with the stream's name
};

// How many pieces of work of each stream are known to be done before whatever carries the clock.
class Clock {
 public:
  bool covers(const Stamp& stamp) const {
    return stamp.stream < counts_.size() && counts_[stamp.stream] >= stamp.number;
  }
  void advance(std::size_t stream, std::uint64_t number) {
    if (counts_.size() <= stream) {
      counts_.resize(stream + 1);
    }
    counts_[stream] = std::max(counts_[stream], number);
  }
  void join(const Clock& other) {
    for (std::size_t stream = 0; stream < other.counts_.size(); ++stream) {
      advance(stream, other.counts_[stream]);
    }
  }

 private:
  std::vector<std::uint64_t> counts_;  // by stream
};

}  // namespace fake_gpu
