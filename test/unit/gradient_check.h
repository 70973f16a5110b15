// Checks the gradients of a piece of forward code against central finite differences.
#pragma once

#include <functional>
#include <vector>

#include "device/device.h"
#include "nn/parameter_set.h"
#include "nn/tape.h"

namespace lockstep::test {

// A fixed, irregular pattern in [-0.5, 0.5): element i of tensor k. The same as in
// test/fixtures/make_reference_values.py.
std::vector<float> pattern(std::int64_t count, std::int64_t k, float scale = 1.f);

device::Tensor pattern_tensor(device::Device& device, const device::Shape& shape, std::int64_t k,
                              float scale = 1.f);

std::vector<float> to_host(device::Device& device, const device::Tensor& tensor);

double sum_of_squares(device::Device& device, const device::Tensor& tensor);

// f(x, parameters) = sum of the outputs times a fixed pattern, with outputs in f32 and the sum in f64. Each
// element of x and of every parameter moves by 2^-8 both ways (all our operations are piecewise linear or
// nearly so: a large step costs nothing and keeps rounding small). Tolerance: 2e-3 + 1e-3 |gradient|.
// Elements whose one-sided differences disagree lie on a kink (ReLU, a tie in a maximum) and are left out; at
// least a third must remain. On a GPU some two dozen elements of each tensor are enough: its operations are
// compared with the CPU's one by one.
void check_gradients(nn::ParameterSet& parameters, const nn::ForwardContext& context, const device::Tensor& x,
                     const std::function<nn::Variable(nn::Tape&, const nn::Variable&)>& forward);

}  // namespace lockstep::test
