#include "models/mlp.h"

#include <functional>
#include <numeric>

#include "models/head.h"

namespace lockstep::models {

namespace {

class Mlp final : public Model {
 public:
  Mlp(std::int64_t features, std::span<const std::int64_t> hidden, std::int64_t outputs,
      const ModelOptions& options, device::Device& device)
      : Model(device),
        features_(features),
        head_(parameters_, features, hidden, outputs, options.dropout, options.activation) {}

  nn::Variable forward(nn::Tape& tape, const nn::Variable& x) const override {
    return head_(tape, {x.value.reshaped({x.value.shape()[0], features_}), x.slot}, false);
  }

 private:
  std::int64_t features_;
  Head head_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const ModelOptions& options, std::span<const std::int64_t> sample_shape,
                                std::int64_t outputs, device::Device& device) {
  const std::int64_t features =
      std::accumulate(sample_shape.begin(), sample_shape.end(), std::int64_t{1}, std::multiplies<>());
  const std::vector<std::int64_t> hidden =
      options.hidden.empty() ? std::vector<std::int64_t>{256, 128} : options.hidden;
  return std::make_unique<Mlp>(features, hidden, outputs, options, device);
}

}  // namespace lockstep::models
