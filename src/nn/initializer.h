// How parameters start: PyTorch's defaults for Linear and Conv2d.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::nn {

// Uniform in [-bound, bound). Zero bound gives zeros.
struct Initializer {
  float bound = 0.f;

  // What kaiming_uniform_(a = sqrt(5)) comes to for weights and what PyTorch uses for biases: 1/sqrt(fan_in).
  static Initializer fan_in(std::int64_t fan_in);
};

// Depends on the seed and the parameter's name alone: not on its place in the model, nor on ranks.
void initialize(const Initializer& initializer, std::uint64_t seed, std::string_view name,
                std::span<float> values);

}  // namespace lockstep::nn
