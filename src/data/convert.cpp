#include "data/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"

namespace lockstep::data {

namespace {

// Calls `visit` with a value of the C++ type that lies in memory.
template <typename Visit>
auto dispatch(ElementType type, Visit visit) {
  switch (type) {
    case ElementType::u8:
      return visit(std::uint8_t{});
    case ElementType::i8:
      return visit(std::int8_t{});
    case ElementType::u16:
      return visit(std::uint16_t{});
    case ElementType::i16:
      return visit(std::int16_t{});
    case ElementType::u32:
      return visit(std::uint32_t{});
    case ElementType::i32:
      return visit(std::int32_t{});
    case ElementType::u64:
      return visit(std::uint64_t{});
    case ElementType::i64:
      return visit(std::int64_t{});
    case ElementType::f32:
      return visit(float{});
    case ElementType::f64:
      return visit(double{});
  }
  throw Error(ExitCode::internal, "unknown element type");
}

// Rows lie at any byte of a buffer: memcpy is what makes that legal, and compiles to a plain load.
template <typename T>
T load(const std::byte* stored, std::size_t index) {
  T value;
  std::memcpy(&value, stored + index * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               std::span<float> out) {
  const double scale = normalisation.scale / normalisation.std;
  const double shift = normalisation.mean / normalisation.std;
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    // Up to 16 bits a float holds the number exactly; the multiplication then rounds once.
    using Wide = std::conditional_t<(sizeof(T) <= 4), float, double>;
    const auto factor = static_cast<Wide>(scale);
    const auto offset = static_cast<Wide>(shift);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<float>(static_cast<Wide>(load<T>(stored, i)) * factor - offset);
    }
  });
}

void to_labels(ElementType type, const std::byte* stored, std::span<std::int64_t> out) {
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const T value = load<T>(stored, i);
      if constexpr (std::is_same_v<T, std::uint64_t>) {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        out[i] = static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(most)));
      } else {
        out[i] = static_cast<std::int64_t>(value);
      }
    }
  });
}

std::optional<std::int64_t> first_non_finite(ElementType type, const std::byte* stored, std::int64_t count) {
  return dispatch(type, [&](auto sample) -> std::optional<std::int64_t> {
    using T = decltype(sample);
    if constexpr (std::is_floating_point_v<T>) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(load<T>(stored, static_cast<std::size_t>(i)))) return i;
      }
    }
    return std::nullopt;
  });
}

}  // namespace lockstep::data
