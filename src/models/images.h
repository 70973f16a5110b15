// What the models for images share: the samples' shape and their order in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "nn/tape.h"

namespace lockstep::models {

struct ImageShape {
  std::int64_t channels, height, width;
};

// Of samples [H, W] or [C, H, W]; anything else is Error(bad_config), which names the model.
ImageShape image_shape(std::string_view model, std::span<const std::int64_t> sample_shape);

// A micro-batch as stored, [n, sample shape...], as images [n, h, w, c]; no gradient flows back into it.
nn::Variable channels_last(nn::Tape& tape, const nn::Variable& x, const ImageShape& image);

}  // namespace lockstep::models
