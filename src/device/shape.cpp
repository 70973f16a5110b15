#include "device/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

namespace lockstep::device {

Shape::Shape(std::span<const std::int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  const bool negative = std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; });
  if (sizes.size() > max_rank || negative) {
    throw Error(ExitCode::internal, fmt::format("shape [{}]: wanted at most {} sizes, none negative",
                                                fmt::join(sizes, ", "), max_rank));
  }
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

std::int64_t Shape::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes()) product *= size;
  return product;
}

std::string Shape::text() const {
  return fmt::format("[{}]", fmt::join(sizes(), ", "));
}

}  // namespace lockstep::device
