// An optimizer: one fused pass over each flat buffer of a ParameterSet. Adding one is adding a file and a
// line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "nn/parameter_set.h"

namespace lockstep::optim {

// The keys of the configuration's [optim] section.
struct OptimizerOptions {
  double momentum = 0.9;      // sgd, in [0, 1)
  double weight_decay = 0.0;  // of the parameters that have it (weights, not biases), at least 0
  double beta1 = 0.9;         // adamw, in [0, 1)
  double beta2 = 0.999;       // adamw, in [0, 1)
  double eps = 1e-8;          // adamw, above 0
};

struct StepArguments {
  double learning_rate = 0.;
  // Gradients are sums over samples: clip coefficient / true number of samples of the global batch.
  double gradient_scale = 1.;
  // The how-manieth update of the parameters this is, from 1: a step that was skipped is none.
  std::int64_t update = 1;
};

// One kind of state. A parameter's part of it is parameter.slice_of(buffers); files name it
// "<name>/<parameter>".
struct OptimizerState {
  std::string name;                     // "momentum"
  std::vector<device::Tensor> buffers;  // one per group, laid out like its values; starts as zeros
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(const StepArguments& arguments) = 0;
  // The whole state: writing these buffers and the parameters restores the optimizer.
  virtual std::span<const OptimizerState> state() const = 0;
};

struct OptimizerEntry {
  std::string_view name;
  std::string_view summary;  // one line for --help
  std::unique_ptr<Optimizer> (*make)(const OptimizerOptions& options, nn::ParameterSet& parameters);
};

std::span<const OptimizerEntry> optimizers();

// Error(bad_config) for an unknown name (with the nearest right one) and options out of range. The parameters
// are allocated and outlive the optimizer.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptimizerOptions& options,
                                          nn::ParameterSet& parameters);

}  // namespace lockstep::optim
