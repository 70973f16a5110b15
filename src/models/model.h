// A model: its parameters and its forward pass. Adding one is adding a file and a line in registry.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/parameter_set.h"
#include "nn/tape.h"

namespace lockstep::models {

// The keys of the configuration's [model] section; a model reads those that it has a use for.
struct ModelOptions {
  // mlp: widths of the hidden layers; cnn: widths of the linear layers between the convolutions and the
  // output. Empty: the model's own default (mlp 256,128; cnn 128).
  std::vector<std::int64_t> hidden;
  // cnn: output channels of each 3 x 3 convolution, each followed by ReLU and max-pooling by 2. Empty: 16,32.
  std::vector<std::int64_t> channels;
  // Probability of dropping an input of a linear layer, in [0, 1); the mlp's first layer sees all of its
  // input.
  double dropout = 0.25;
  // resnet: 20, 32, 44, 56 or 110 for small images, 18 or 34 for large ones.
  std::int64_t depth = 20;
  // mlp: behind each hidden layer, relu or gelu.
  device::Activation activation = device::Activation::relu;
};

class Model {
 public:
  virtual ~Model() = default;

  nn::ParameterSet& parameters() { return parameters_; }
  const nn::ParameterSet& parameters() const { return parameters_; }

  // Samples that a micro-batch must have in training, the last one of an epoch too.
  virtual std::int64_t least_batch() const { return 1; }
  // x is a micro-batch as stored, [n, sample shape...], in the type of the computation; returns [n, outputs]:
  // logits of classes, or predicted numbers.
  virtual nn::Variable forward(nn::Tape& tape, const nn::Variable& x) const = 0;

 protected:
  explicit Model(device::Device& device) : parameters_(device) {}

  nn::ParameterSet parameters_;  // the constructor of a model fills it; make_model allocates
};

}  // namespace lockstep::models
