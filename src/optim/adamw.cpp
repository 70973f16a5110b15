#include "optim/adamw.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace lockstep::optim {

namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, nn::ParameterSet& parameters)
      : options_(options), parameters_(parameters), state_{{"exp_avg", {}}, {"exp_avg_sq", {}}} {
    for (OptimizerState& moment : state_) {
      for (const nn::ParameterGroup& group : parameters.groups()) {
        moment.buffers.push_back(parameters.device().zeros(group.values.shape()));
      }
    }
  }

  void step(const StepArguments& arguments) override {
    const auto update = static_cast<double>(arguments.update);
    const double correction1 = 1. - std::pow(options_.beta1, update);
    const double correction2 = 1. - std::pow(options_.beta2, update);
    device::AdamwArguments adamw{.gradient_scale = static_cast<float>(arguments.gradient_scale),
                                 .value_scale = 1.f,
                                 .exp_avg_weight = static_cast<float>(1. - options_.beta1),
                                 .beta2 = static_cast<float>(options_.beta2),
                                 .exp_avg_sq_weight = static_cast<float>(1. - options_.beta2),
                                 .step_size = static_cast<float>(arguments.learning_rate / correction1),
                                 .root_correction = static_cast<float>(std::sqrt(correction2)),
                                 .eps = static_cast<float>(options_.eps)};
    const std::span<const nn::ParameterGroup> groups = parameters_.groups();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double decay = groups[i].weight_decay ? options_.weight_decay : 0.;
      adamw.value_scale = static_cast<float>(1. - arguments.learning_rate * decay);
      parameters_.device().adamw_step(adamw, groups[i].gradients, groups[i].values, state_[0].buffers[i],
                                      state_[1].buffers[i]);
    }
  }

  std::span<const OptimizerState> state() const override { return state_; }

 private:
  OptimizerOptions options_;
  nn::ParameterSet& parameters_;
  std::vector<OptimizerState> state_;
};

void check_beta(const char* key, double beta) {
  if (beta >= 0. && beta < 1.) return;
  throw Error(ExitCode::bad_config, fmt::format("optim.{} = {}: wanted 0 <= {} < 1", key, beta, key));
}

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimizerOptions& options, nn::ParameterSet& parameters) {
  check_beta("beta1", options.beta1);
  check_beta("beta2", options.beta2);
  // A parameter whose gradient is zero would be divided by nothing, the padding of the buffers too.
  if (!(static_cast<float>(options.eps) > 0.f)) {
    throw Error(ExitCode::bad_config,
                fmt::format("optim.eps = {}: wanted a number above 1e-45, as 1e-8", options.eps));
  }
  if (!(options.weight_decay >= 0.)) {
    throw Error(ExitCode::bad_config,
                fmt::format("optim.weight_decay = {}: wanted at least 0", options.weight_decay));
  }
  return std::make_unique<AdamW>(options, parameters);
}

}  // namespace lockstep::optim
