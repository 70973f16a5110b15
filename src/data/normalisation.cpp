#include "data/normalisation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::data {

std::string text_of(const Normalisation& normalisation) {
  return fmt::format("scale {}, mean {}, std {}", normalisation.scale, fmt::join(normalisation.mean, ","),
                     fmt::join(normalisation.std, ","));
}

}  // namespace lockstep::data
