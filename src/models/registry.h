// The models by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace lockstep::models {

struct ModelEntry {
  std::string_view name;
  std::string_view summary;  // one line for --help
  std::unique_ptr<Model> (*make)(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                 std::int64_t outputs, device::Device& device);
};

std::span<const ModelEntry> models();

// The model with its parameters initialised from the seed. `sample_shape` is one sample as stored: [H, W],
// [C, H, W] or [features]; `outputs`, at least 1: one for each class or number to predict. Error(bad_config)
// for an unknown name (with the nearest right one), options that cannot work, and a sample shape that the
// model cannot take. `compute`: the type of activations and products, nn/parameter_set.h. The device outlives
// the model.
std::unique_ptr<Model> make_model(std::string_view name, const ModelOptions& options,
                                  std::span<const std::int64_t> sample_shape, std::int64_t outputs,
                                  std::uint64_t seed, device::Device& device,
                                  device::DType compute = device::DType::f32);

}  // namespace lockstep::models
