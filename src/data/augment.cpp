#include "data/augment.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/philox.h"

namespace lockstep::data {

namespace {

ImageShape image_of(const std::vector<std::int64_t>& sample_shape) {
  if (sample_shape.size() == 2) return {1, sample_shape[0], sample_shape[1]};
  if (sample_shape.size() == 3) return {sample_shape[0], sample_shape[1], sample_shape[2]};
  throw Error(
      ExitCode::bad_config,
      fmt::format("data.crop_padding and data.flip are for images, [height, width] or [channels, height, "
                  "width]; the samples are {}: leave both out",
                  shape_text(sample_shape)));
}

}  // namespace

Augmenter::Augmenter(const AugmentOptions& options, std::uint64_t seed,
                     const std::vector<std::int64_t>& sample_shape)
    : options_(options), seed_(seed), image_(image_of(sample_shape)) {
  const std::int64_t smaller = std::min(image_.height, image_.width);
  if (options.crop_padding >= smaller) {
    throw Error(ExitCode::bad_config,
                fmt::format("data.crop_padding = {} could cut beside the images of {} x {}; wanted 0 to {}",
                            options.crop_padding, image_.height, image_.width, smaller - 1));
  }
}

Cut Augmenter::cut(std::int64_t epoch, std::int64_t id) const {
  PhiloxStream random(seed_, Purpose::augment, static_cast<std::uint64_t>(id),
                      static_cast<std::uint32_t>(epoch));
  Cut cut;
  // Drawn whether or not it is asked for: the crops of a run are the same with and without mirroring.
  const bool mirrored = (random.next() >> 31) != 0;
  cut.mirrored = options_.flip && mirrored;
  if (options_.crop_padding > 0) {
    const auto places = static_cast<std::uint32_t>(2 * options_.crop_padding + 1);
    cut.top = random.below(places) - options_.crop_padding;
    cut.left = random.below(places) - options_.crop_padding;
  }
  return cut;
}

std::optional<Augmenter> make_augmenter(const AugmentOptions& options, std::uint64_t seed,
                                        const std::vector<std::int64_t>& sample_shape) {
  if (options.crop_padding == 0 && !options.flip) return std::nullopt;
  return Augmenter(options, seed, sample_shape);
}

}  // namespace lockstep::data
