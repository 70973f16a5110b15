#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/model.h"

namespace lockstep::models {

// Flatten, then fc1 .. fcN with ReLU and dropout between them. Samples of any shape.
std::unique_ptr<Model> make_mlp(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                std::int64_t outputs, device::Device& device);

}  // namespace lockstep::models
