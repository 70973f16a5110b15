#include "models/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"
#include "models/cnn.h"
#include "models/mlp.h"
#include "models/resnet.h"

namespace lockstep::models {

namespace {

constexpr std::array<ModelEntry, 3> table{{
    {"mlp", "linear layers with ReLU or GELU, and dropout", make_mlp},
    {"cnn", "3 x 3 convolutions with ReLU and max-pooling, then linear layers with dropout", make_cnn},
    {"resnet", "residual network with batch normalisation, of 18 to 110 layers (model.depth)", make_resnet},
}};

void check_sizes(std::string_view key, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) {
      throw Error(ExitCode::bad_config, fmt::format("model.{} = {}: each size must be at least 1, not {}",
                                                    key, fmt::join(sizes, ","), size));
    }
  }
}

void check(const ModelOptions& options, std::span<const std::int64_t> sample_shape, std::int64_t outputs) {
  check_sizes("hidden", options.hidden);
  check_sizes("channels", options.channels);
  if (!(options.dropout >= 0. && options.dropout < 1.)) {
    throw Error(ExitCode::bad_config,
                fmt::format("model.dropout = {}: wanted a probability 0 <= p < 1", options.dropout));
  }
  const bool empty =
      std::any_of(sample_shape.begin(), sample_shape.end(), [](std::int64_t s) { return s < 1; });
  if (sample_shape.empty() || empty || outputs < 1) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("the data's samples are [{}] with {} outputs: a model needs samples with at least "
                    "one value and at least 1 class or number to predict",
                    fmt::join(sample_shape, ", "), outputs));
  }
}

}  // namespace

std::span<const ModelEntry> models() {
  return table;
}

std::unique_ptr<Model> make_model(std::string_view name, const ModelOptions& options,
                                  std::span<const std::int64_t> sample_shape, std::int64_t outputs,
                                  std::uint64_t seed, device::Device& device, device::DType compute) {
  const auto entry =
      std::find_if(table.begin(), table.end(), [&](const ModelEntry& e) { return e.name == name; });
  if (entry == table.end()) {
    std::vector<std::string> names;
    for (const ModelEntry& e : table) names.emplace_back(e.name);
    const std::optional<std::string> near = nearest(name, names);
    throw Error(ExitCode::bad_config,
                fmt::format("there is no model '{}'{}; known are: {}", name,
                            near ? fmt::format(", did you mean '{}'", *near) : "", fmt::join(names, ", ")));
  }
  check(options, sample_shape, outputs);
  std::unique_ptr<Model> model = entry->make(options, sample_shape, outputs, device);
  model->parameters().allocate(seed, compute);
  return model;
}

}  // namespace lockstep::models
