#include "data/moments.h"

#include <cmath>
#include <cstring>

#include "core/error.h"

namespace lockstep::data {

Moments::Moments(ElementType type, std::int64_t sample_elements, std::int64_t groups)
    : type_(type),
      sample_elements_(static_cast<std::size_t>(sample_elements)),
      part_(static_cast<std::size_t>(sample_elements / groups)),
      groups_(static_cast<std::size_t>(groups)) {}

// Calls `visit` with the place of each run of numbers of the group that begins at `first` of a sample.
template <typename Visit>
void Moments::for_each_in_group(std::span<const std::byte> samples, std::size_t first, Visit visit) const {
  const std::size_t size = size_of(type_);
  const std::size_t sample = sample_elements_ * size;
  for (std::size_t at = first * size; at < samples.size(); at += sample) {
    for (std::size_t i = 0; i < part_; ++i) visit(samples.data() + at + i * size);
  }
}

template <typename T>
void Moments::add_whole(Group& group, std::span<const std::byte> samples, std::size_t first) const {
  std::int64_t sum = 0;
  std::uint64_t squares = 0;  // of at most 2^31 numbers below 2^16
  for_each_in_group(samples, first, [&](const std::byte* stored) {
    T value;
    std::memcpy(&value, stored, sizeof value);
    sum += value;
    squares += static_cast<std::uint64_t>(std::int64_t{value} * value);
  });
  group.sum += static_cast<double>(sum);
  group.squares += static_cast<double>(squares);
}

// Two passes over the piece, then both means become one: no digits are lost where the mean is large.
template <typename T>
void Moments::add_real(Group& group, std::span<const std::byte> samples, std::size_t first) const {
  double count = 0;
  double sum = 0;
  for_each_in_group(samples, first, [&](const std::byte* stored) {
    T value;
    std::memcpy(&value, stored, sizeof value);
    sum += value;
    ++count;
  });
  const double mean = sum / count;
  double spread = 0;
  for_each_in_group(samples, first, [&](const std::byte* stored) {
    T value;
    std::memcpy(&value, stored, sizeof value);
    spread += (value - mean) * (value - mean);
  });
  const double before = samples_ * static_cast<double>(part_);
  const double difference = mean - group.mean;
  group.spread += spread + difference * difference * before * count / (before + count);
  group.mean += difference * count / (before + count);
}

void Moments::add(std::span<const std::byte> samples) {
  if (samples.empty()) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t first = i * part_;
    switch (type_) {
      case ElementType::u8:
        add_whole<std::uint8_t>(groups_[i], samples, first);
        break;
      case ElementType::i8:
        add_whole<std::int8_t>(groups_[i], samples, first);
        break;
      case ElementType::u16:
        add_whole<std::uint16_t>(groups_[i], samples, first);
        break;
      case ElementType::i16:
        add_whole<std::int16_t>(groups_[i], samples, first);
        break;
      case ElementType::f32:
        add_real<float>(groups_[i], samples, first);
        break;
      case ElementType::f64:
        add_real<double>(groups_[i], samples, first);
        break;
      default:
        throw Error(ExitCode::internal, "samples are not stored as numbers of this type");
    }
  }
  const std::size_t count = samples.size() / (sample_elements_ * size_of(type_));
  samples_ += static_cast<double>(count);
}

std::vector<double> Moments::mean() const {
  const bool real = is_floating(type_);
  const double count = samples_ * static_cast<double>(part_);
  std::vector<double> result;
  for (const Group& group : groups_) result.push_back(real ? group.mean : group.sum / count);
  return result;
}

std::vector<double> Moments::deviation() const {
  const bool real = is_floating(type_);
  const double count = samples_ * static_cast<double>(part_);
  std::vector<double> result;
  for (const Group& group : groups_) {
    const double mean = group.sum / count;
    const double variance = real ? group.spread / count : group.squares / count - mean * mean;
    result.push_back(variance > 0 ? std::sqrt(variance) : 0);
  }
  return result;
}

}  // namespace lockstep::data
