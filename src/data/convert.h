// From the numbers of a shard to those of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/shard.h"

namespace lockstep::data {

// out[i] = (stored[i] * scale - mean) / std, for out.size() numbers of the given type: one whole sample.
void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               std::span<float> out);

struct ImageShape {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// A cut-out of the image's own size whose pixel (0, 0) is the stored pixel (top, left); both may be negative.
// Pixels beyond the image are stored zeros. Mirrored left to right after cutting.
struct Cut {
  std::int64_t top = 0;
  std::int64_t left = 0;
  bool mirrored = false;
};

// The cut-out, normalised like any sample: `out` holds channels * height * width numbers.
void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               const ImageShape& image, const Cut& cut, std::span<float> out);

// Widens labels; `type` is an integer type. Unsigned values beyond the range of int64 become negative, as no
// class number is.
void to_labels(ElementType type, const std::byte* stored, std::span<std::int64_t> out);

// The number that is stored, from what to_labels() makes of it.
std::string label_text(ElementType type, std::int64_t label);

// Numbers to predict; `type` is a floating type. A float64 beyond the range of float32 becomes an infinity.
void to_targets(ElementType type, const std::byte* stored, std::span<float> out);

// The index of the first number that no float32 can hold: NaN, infinity, a float64 beyond its range. Integer
// types have none.
std::optional<std::int64_t> first_non_finite(ElementType type, const std::byte* stored, std::int64_t count);

// One stored number, for messages.
double number_at(ElementType type, const std::byte* stored, std::int64_t index);

}  // namespace lockstep::data
