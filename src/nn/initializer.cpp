#include "nn/initializer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/hash.h"
#include "core/philox.h"

namespace lockstep::nn {

namespace {

// Two independent normal numbers from two words (Box and Muller).
std::array<double, 2> normal_pair(PhiloxStream& stream) {
  // In (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2. * std::log((static_cast<double>(stream.next()) + 1.) * 0x1p-32));
  const double angle = 2. * std::numbers::pi * 0x1p-32 * static_cast<double>(stream.next());
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

Initializer Initializer::fan_in(std::int64_t fan_in) {
  return {Kind::uniform, static_cast<float>(1. / std::sqrt(static_cast<double>(fan_in)))};
}

Initializer Initializer::normal_fan_out(std::int64_t fan_out) {
  return {Kind::normal, static_cast<float>(std::sqrt(2. / static_cast<double>(fan_out)))};
}

void initialize(const Initializer& initializer, std::uint64_t seed, std::string_view name,
                std::span<float> values) {
  PhiloxStream stream(seed, Purpose::init, hash64(name));
  switch (initializer.kind) {
    case Initializer::Kind::constant:
      std::fill(values.begin(), values.end(), initializer.scale);
      break;
    case Initializer::Kind::uniform:
      for (float& value : values) value = (2.f * to_unit_float(stream.next()) - 1.f) * initializer.scale;
      break;
    case Initializer::Kind::normal:
      for (std::size_t i = 0; i < values.size(); i += 2) {
        const std::array<double, 2> pair = normal_pair(stream);
        for (std::size_t j = 0; j < std::min<std::size_t>(2, values.size() - i); ++j) {
          values[i + j] = static_cast<float>(static_cast<double>(initializer.scale) * pair[j]);
        }
      }
      break;
  }
}

}  // namespace lockstep::nn
