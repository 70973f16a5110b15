// A convolution over images in NHWC order, PyTorch's Conv2d with one group and no dilation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nn/tape.h"

namespace lockstep::nn {

class Conv2d {
 public:
  // Registers "<name>.weight" [out, in, kernel, kernel] (with weight decay) and "<name>.bias" [out]
  // (without).
  Conv2d(ParameterSet& parameters, const std::string& name, std::int64_t in, std::int64_t out,
         std::int64_t kernel, const device::Conv2dOptions& options);

  // Without a bias, as before a batch normalisation, which would take it out again; Kaiming's normal start.
  static Conv2d without_bias(ParameterSet& parameters, const std::string& name, std::int64_t in,
                             std::int64_t out, std::int64_t kernel, const device::Conv2dOptions& options);

  // x [n, h, w, in] -> [n, oh, ow, out]. An image that is smaller than the kernel is Error(bad_config).
  Variable operator()(Tape& tape, const Variable& x,
                      device::Activation activation = device::Activation::none) const;

 private:
  Conv2d(const std::string& name, std::int64_t out, std::int64_t kernel, const device::Conv2dOptions& options,
         std::size_t weight)
      : name_(name), out_(out), kernel_(kernel), options_(options), weight_(weight) {}

  std::string name_;
  std::int64_t out_, kernel_;
  device::Conv2dOptions options_;
  std::size_t weight_;
  std::optional<std::size_t> bias_;
};

}  // namespace lockstep::nn
