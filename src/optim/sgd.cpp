#include "optim/sgd.h"

#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::optim {

namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, nn::ParameterSet& parameters)
      : options_(options), parameters_(parameters), state_{{"momentum", {}}} {
    for (const nn::ParameterGroup& group : parameters.groups()) {
      state_[0].buffers.push_back(parameters.device().zeros(group.values.shape()));
    }
  }

  void step(const StepArguments& arguments) override {
    const std::span<const nn::ParameterGroup> groups = parameters_.groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const device::SgdArguments sgd{
          .learning_rate = static_cast<float>(arguments.learning_rate),
          .gradient_scale = static_cast<float>(arguments.gradient_scale),
          .momentum = static_cast<float>(options_.momentum),
          .weight_decay = groups[i].weight_decay ? static_cast<float>(options_.weight_decay) : 0.f};
      parameters_.device().sgd_step(sgd, groups[i].gradients, groups[i].values, state_[0].buffers[i]);
    }
  }

  std::span<const OptimizerState> state() const override { return state_; }

 private:
  OptimizerOptions options_;
  nn::ParameterSet& parameters_;
  std::vector<OptimizerState> state_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const OptimizerOptions& options, nn::ParameterSet& parameters) {
  if (!(options.momentum >= 0. && options.momentum < 1.) || !(options.weight_decay >= 0.)) {
    throw Error(ExitCode::bad_config,
                fmt::format("optim.momentum = {} and optim.weight_decay = {}: wanted 0 <= momentum < 1 and "
                            "weight_decay >= 0",
                            options.momentum, options.weight_decay));
  }
  return std::make_unique<Sgd>(options, parameters);
}

}  // namespace lockstep::optim
