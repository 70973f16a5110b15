#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/model.h"

namespace lockstep::models {

// For each entry of channels: convN 3 x 3 (padding 1), ReLU, max-pooling by 2; then flatten and fc1 .. fcN
// with dropout before each and ReLU between them. Samples are images [H, W] or [C, H, W].
std::unique_ptr<Model> make_cnn(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                std::int64_t outputs, device::Device& device);

}  // namespace lockstep::models
