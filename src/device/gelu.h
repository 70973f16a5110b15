// GELU by its approximation with tanh, torch.nn.functional.gelu(x, approximate="tanh"), as every device
// computes it:
//   gelu(x) = x / 2 (1 + tanh(u)) = x s(2 u),  u = sqrt(2 / pi) (x + 0.044715 x^3),  s(z) = 1 / (1 + exp(-z))
// The form with s keeps the bits of what is left at negative x, where 1 + tanh(u) cancels. NaN stays NaN.
#pragma once

#include "core/host_device.h"
#include "core/vector.h"

namespace lockstep::device {

struct Gelu {
  float share;  // gelu(x) / x
  float slope;  // gelu'(x)
};

// `exp`: of numbers down to -320, 0 where the result is too small.
template <class Exp>
LOCKSTEP_HOST_DEVICE LOCKSTEP_INLINE Gelu gelu_at(float x, const Exp& exp) {
  constexpr float first = 1.595769122f;  // sqrt(8 / pi)
  constexpr float third = 0.044715f * first;
  // Farther out all is 0 or 1, and the powers would become infinite.
  const float c = x < -16.f ? -16.f : x > 16.f ? 16.f : x;
  const float square = c * c;
  const float z = c * (first + third * square);
  const float decay = exp(z < 0.f ? z : -z);
  const float inverse = 1.f / (1.f + decay);
  const float share = z < 0.f ? decay * inverse : inverse;
  return {share, share + c * (first + 3.f * third * square) * decay * inverse * inverse};
}

}  // namespace lockstep::device
