#include "models/images.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace lockstep::models {

ImageShape image_shape(std::string_view model, std::span<const std::int64_t> sample_shape) {
  if (sample_shape.size() != 2 && sample_shape.size() != 3) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("model {} needs images [H, W] or [C, H, W], the data's samples are [{}]: choose model "
                    "mlp for flat data",
                    model, fmt::join(sample_shape, ", ")));
  }
  return {sample_shape.size() == 3 ? sample_shape[0] : 1, sample_shape[sample_shape.size() - 2],
          sample_shape.back()};
}

nn::Variable channels_last(nn::Tape& tape, const nn::Variable& x, const ImageShape& image) {
  const auto& [channels, height, width] = image;
  const std::int64_t n = x.value.shape()[0];
  if (channels == 1) return tape.input(x.value.reshaped({n, height, width, 1}));
  const device::Tensor images = tape.device().empty({n, height, width, channels}, x.value.dtype());
  tape.device().nchw_to_nhwc(x.value.reshaped({n, channels, height, width}), images);
  return tape.input(images);
}

}  // namespace lockstep::models
