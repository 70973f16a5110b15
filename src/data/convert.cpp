#include "data/convert.h"

#include <fmt/format.h>

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

// What normalisation does to the numbers of one group.
template <typename T>
class Scaling {
 public:
  Scaling(const Normalisation& normalisation, std::size_t group)
      : factor_(static_cast<Wide>(normalisation.scale / normalisation.std_of(group))),
        offset_(static_cast<Wide>(normalisation.mean_of(group) / normalisation.std_of(group))) {}

  float operator()(T value) const { return static_cast<float>(static_cast<Wide>(value) * factor_ - offset_); }

 private:
  // Up to 16 bits a float holds the number exactly; the multiplication then rounds once.
  using Wide = std::conditional_t<(sizeof(T) <= 4), float, double>;
  Wide factor_;
  Wide offset_;
};

template <typename T>
void scale_run(const std::byte* stored, const Scaling<T> scaling, std::span<float> out) {
  float* const to = out.data();
  const std::size_t count = out.size();
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) to[i] = scaling(load<T>(stored, i));
}

// `row` is a row of the stored image, out of which the columns from `left` on are cut.
template <typename T>
void cut_row(const std::byte* row, std::int64_t left, const Scaling<T> scaling, std::span<float> out) {
  const auto width = static_cast<std::int64_t>(out.size());
  const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, width);  // of what lies in the image
  const std::int64_t end = std::clamp<std::int64_t>(width - left, begin, width);
  const float zero = scaling(T{0});
  std::fill(out.begin(), out.begin() + begin, zero);
  const auto first = static_cast<std::size_t>(begin + left) * sizeof(T);
  scale_run(row + first, scaling,
            out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  std::fill(out.begin() + end, out.end(), zero);
}

}  // namespace

void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               std::span<float> out) {
  const std::size_t groups = normalisation.groups();
  const std::size_t each = out.size() / groups;
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t group = 0; group < groups; ++group) {
      scale_run(stored + group * each * sizeof(T), Scaling<T>(normalisation, group),
                out.subspan(group * each, each));
    }
  });
}

void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               const ImageShape& image, const Cut& cut, std::span<float> out) {
  const auto width = static_cast<std::size_t>(image.width);
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::int64_t channel = 0; channel < image.channels; ++channel) {
      const auto group = static_cast<std::size_t>(channel);
      const Scaling<T> scaling(normalisation, group);
      for (std::int64_t y = 0; y < image.height; ++y) {
        const auto to = out.subspan(static_cast<std::size_t>(channel * image.height + y) * width, width);
        const std::int64_t from = y + cut.top;
        if (from < 0 || from >= image.height) {
          std::fill(to.begin(), to.end(), scaling(T{0}));
          continue;
        }
        const auto first = static_cast<std::size_t>(channel * image.height + from) * width * sizeof(T);
        cut_row<T>(stored + first, cut.left, scaling, to);
        if (cut.mirrored) std::reverse(to.begin(), to.end());
      }
    }
  });
}

void to_labels(ElementType type, const std::byte* stored, std::span<std::int64_t> out) {
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<std::int64_t>(load<T>(stored, i));
    }
  });
}

std::string label_text(ElementType type, std::int64_t label) {
  return type == ElementType::u64 ? fmt::format("{}", static_cast<std::uint64_t>(label))
                                  : fmt::format("{}", label);
}

void to_targets(ElementType type, const std::byte* stored, std::span<float> out) {
  dispatch(type, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(load<T>(stored, i));
  });
}

std::optional<std::int64_t> first_non_finite(ElementType type, const std::byte* stored, std::int64_t count) {
  return dispatch(type, [&](auto sample) -> std::optional<std::int64_t> {
    using T = decltype(sample);
    if constexpr (std::is_floating_point_v<T>) {
      const auto finite = [stored](std::int64_t i) {
        return std::abs(load<T>(stored, static_cast<std::size_t>(i))) <= std::numeric_limits<float>::max();
      };
      // Without a way out of the loop it is vectorised: nearly all data are good, and all of them are read.
      int bad = 0;
#pragma omp simd reduction(| : bad)
      for (std::int64_t i = 0; i < count; ++i) bad |= finite(i) ? 0 : 1;
      for (std::int64_t i = 0; bad != 0 && i < count; ++i) {
        if (!finite(i)) return i;
      }
    }
    return std::nullopt;
  });
}

double number_at(ElementType type, const std::byte* stored, std::int64_t index) {
  return dispatch(type, [&](auto sample) {
    return static_cast<double>(load<decltype(sample)>(stored, static_cast<std::size_t>(index)));
  });
}

}  // namespace lockstep::data
