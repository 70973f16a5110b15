#include "nn/initializer.h"

#include <cmath>

#include "core/hash.h"
#include "core/philox.h"

namespace lockstep::nn {

Initializer Initializer::fan_in(std::int64_t fan_in) {
  return {static_cast<float>(1. / std::sqrt(static_cast<double>(fan_in)))};
}

void initialize(const Initializer& initializer, std::uint64_t seed, std::string_view name,
                std::span<float> values) {
  PhiloxStream stream(seed, Purpose::init, hash64(name));
  for (float& value : values) value = (2.f * to_unit_float(stream.next()) - 1.f) * initializer.bound;
}

}  // namespace lockstep::nn
