#include "device/dropout_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/philox.h"

namespace lockstep::device {

std::int32_t dropout_threshold(double probability) {
  if (!(probability >= 0. && probability < 1.)) {
    throw Error(ExitCode::internal,
                fmt::format("dropout: the probability is {}, wanted 0 <= p < 1", probability));
  }
  return static_cast<std::int32_t>(std::min(std::lround(probability * 65536.), 65535L));
}

float dropout_scale(std::int32_t threshold) {
  return 65536.f / static_cast<float>(65536 - threshold);
}

DropoutDraw dropout_draw(const DropoutKey& key, const Tensor& x, std::size_t samples) {
  const std::int64_t n = x.shape()[0];
  if (samples != static_cast<std::size_t>(n) || key.step < 0 || key.step >> 36 != 0 || key.layer < 0 ||
      key.layer >> 12 != 0) {
    throw Error(ExitCode::internal, fmt::format("dropout: {} sample ids for a batch of {}, step {}, layer {}",
                                                samples, n, key.step, key.layer));
  }
  const std::int32_t threshold = dropout_threshold(key.probability);
  return {PhiloxStream::mix(key.seed, Purpose::dropout), static_cast<std::uint64_t>(key.step),
          static_cast<std::uint64_t>(key.layer), threshold, dropout_scale(threshold)};
}

}  // namespace lockstep::device
