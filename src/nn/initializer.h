// How parameters start: PyTorch's defaults for Linear and Conv2d, and what residual networks use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::nn {

struct Initializer {
  enum class Kind {
    constant,  // `scale` itself
    uniform,   // in [-scale, scale)
    normal,    // standard deviation `scale`, mean 0
  };
  Kind kind = Kind::constant;
  float scale = 0.f;

  static Initializer constant(float value) { return {Kind::constant, value}; }
  // What kaiming_uniform_(a = sqrt(5)) comes to for weights and what PyTorch uses for biases: uniform with
  // 1/sqrt(fan_in).
  static Initializer fan_in(std::int64_t fan_in);
  // kaiming_normal_(mode = "fan_out") for a ReLU behind: normal with sqrt(2/fan_out).
  static Initializer normal_fan_out(std::int64_t fan_out);
};

// Depends on the seed and the parameter's name alone: not on its place in the model, nor on ranks.
void initialize(const Initializer& initializer, std::uint64_t seed, std::string_view name,
                std::span<float> values);

}  // namespace lockstep::nn
