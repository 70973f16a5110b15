// y = activation(x weight^T + bias), PyTorch's Linear.
#pragma once

#include <cstdint>
#include <string>

#include "nn/tape.h"

namespace lockstep::nn {

class Linear {
 public:
  // Registers "<name>.weight" [out, in] (with weight decay) and "<name>.bias" [out] (without).
  Linear(ParameterSet& parameters, const std::string& name, std::int64_t in, std::int64_t out);

  // x [n, in] -> [n, out]
  Variable operator()(Tape& tape, const Variable& x,
                      device::Activation activation = device::Activation::none) const;

 private:
  std::int64_t out_;
  std::size_t weight_, bias_;
};

}  // namespace lockstep::nn
