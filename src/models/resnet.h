#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/model.h"

namespace lockstep::models {

// Residual networks of basic blocks (He et al. 2015) on images [H, W] or [C, H, W], by options.depth:
//   20, 32, 44, 56, 110  their form for small images: 3 x 3 convolutions, three stages of 16, 32 and 64
//                        channels, shortcuts without parameters (subsampling, zeros for the new channels)
//   18, 34               their form for large images: 7 x 7 convolution and max-pooling in front, four stages
//   of
//                        64 to 512 channels, projections as shortcuts
// Both end with the mean over the image, dropout, and a linear layer. Parameters and buffers are named as in
// torchvision.
std::unique_ptr<Model> make_resnet(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                   std::int64_t classes, device::Device& device);

}  // namespace lockstep::models
