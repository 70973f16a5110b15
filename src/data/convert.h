// From the numbers of a shard to those of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "data/shard.h"

namespace lockstep::data {

// out[i] = (stored[i] * scale - mean) / std, for out.size() numbers of the given type.
void to_floats(ElementType type, const std::byte* stored, const Normalisation& normalisation,
               std::span<float> out);

// Widens labels; `type` is an integer type. Unsigned values beyond the range of int64 become the largest one.
void to_labels(ElementType type, const std::byte* stored, std::span<std::int64_t> out);

// The index of the first NaN or infinity; integer types have none.
std::optional<std::int64_t> first_non_finite(ElementType type, const std::byte* stored, std::int64_t count);

}  // namespace lockstep::data
