// Mean and deviation of stored numbers, measured piece by piece while they pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/shard.h"

namespace lockstep::data {

// Samples are cut into `groups` equal parts, each with a mean of its own: the channels of an image, the
// features of a flat sample. Whole numbers of up to 16 bits are summed exactly.
class Moments {
 public:
  Moments(ElementType type, std::int64_t sample_elements, std::int64_t groups);

  // Whole samples.
  void add(std::span<const std::byte> samples);

  // Of all numbers so far, one for each group; there must be some. A deviation may be 0.
  std::vector<double> mean() const;
  std::vector<double> deviation() const;

 private:
  struct Group {
    double sum = 0;      // whole numbers
    double squares = 0;  // whole numbers
    double mean = 0;     // floats
    double spread = 0;   // floats: sum of (value - mean)^2
  };
  template <typename T>
  void add_whole(Group& group, std::span<const std::byte> samples, std::size_t first) const;
  template <typename T>
  void add_real(Group& group, std::span<const std::byte> samples, std::size_t first) const;
  template <typename Visit>
  void for_each_in_group(std::span<const std::byte> samples, std::size_t first, Visit visit) const;

  ElementType type_;
  std::size_t sample_elements_;
  std::size_t part_;  // numbers of a group in a sample
  std::vector<Group> groups_;
  double samples_ = 0;
};

}  // namespace lockstep::data
