// Random crops and mirroring of training images, as torchvision's RandomCrop(size, padding) followed by
// RandomHorizontalFlip: the stored image is padded by zeros before it is normalised.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/convert.h"

namespace lockstep::data {

struct AugmentOptions {
  std::int64_t crop_padding = 0;  // pixels on each side; 0: no crop
  bool flip = false;              // half of the images are mirrored left to right
};

// Which cut-out of its image a sample gives: a pure function of (seed, epoch, global sample id), so that it
// is the same on any rank, at any place of any batch.
class Augmenter {
 public:
  // `sample_shape`: [H, W] or [C, H, W]. Throws Error(bad_config) where samples are no images, or a crop
  // could miss the image.
  Augmenter(const AugmentOptions& options, std::uint64_t seed, const std::vector<std::int64_t>& sample_shape);

  const ImageShape& image() const { return image_; }
  Cut cut(std::int64_t epoch, std::int64_t id) const;

 private:
  AugmentOptions options_;
  std::uint64_t seed_;
  ImageShape image_;
};

// Nothing where the options ask for nothing. Throws as the constructor does.
std::optional<Augmenter> make_augmenter(const AugmentOptions& options, std::uint64_t seed,
                                        const std::vector<std::int64_t>& sample_shape);

}  // namespace lockstep::data
