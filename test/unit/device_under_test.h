// What tests of operations share. An operation's test runs on every device and in every type of values, and
// compares with a CpuDevice in f32 on one thread:
//
//   const Trial trial = GENERATE(from_range(trials("relu")));
//   INFO(trial);
//   const Values x = random_values({3, 5}, trial.dtype, 1);  // exact in that type
//   trial.device->relu_forward(on_device(*trial.device, x), y);
//   check_near(from_device(*trial.device, y), wanted, {trial.dtype});
//
// What a device cannot do yet is named in one list, device_under_test.cpp: gaps().
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace lockstep::test {

// One device, one type of values.
struct Trial {
  std::string name;  // "cpu, 2 threads, bf16"
  std::shared_ptr<device::Device> device;
  device::DType dtype;
};
std::ostream& operator<<(std::ostream& out, const Trial& trial);

// Every device that this process can open: the CPU with one and with two threads; a GPU (or the stand-in for
// one) where the environment has LOCKSTEP_CUDA_LIBRARY. Each in f32, bf16 and f16 but for gaps().
// `operation`: the name of a virtual of Device, or of a family of them, as gaps() has it.
std::vector<Trial> trials(std::string_view operation);
// In f32 alone, for operations that know nothing else.
std::vector<Trial> f32_trials(std::string_view operation);

// A CPU with one thread, and the GPU if there is one: for tests of what is made of operations, in f32.
//   Device& device = *GENERATE(from_range(devices()));
std::vector<std::shared_ptr<device::Device>> devices();

// Not there yet: trials() leaves it out.
struct Gap {
  std::string_view kind;       // of the device
  std::string_view operation;  // empty: all
  device::DType dtype;
};
const std::vector<Gap>& gaps();

// Host values and the shape and type of the tensor that they are for.
struct Values {
  device::Shape shape;
  device::DType dtype = device::DType::f32;
  std::vector<float> host;
};

// The nearest value of that type, ties to even; what is too large becomes infinite. Computed by other means
// than any device's.
float rounded(float value, device::DType dtype);
// Uniform in [-scale, scale), rounded to the type; `stream` tells sets of values apart.
Values random_values(const device::Shape& shape, device::DType dtype, std::uint64_t stream,
                     float scale = 1.f);
Values values_of(const device::Shape& shape, device::DType dtype, std::vector<float> host);  // rounded
std::vector<std::int64_t> random_labels(std::int64_t count, std::int64_t classes, std::uint64_t stream);

// A tensor with these values: uploaded in f32, then cast.
device::Tensor on_device(device::Device& device, const Values& values);
// The same values in f32, whatever their type: for the reference.
device::Tensor in_f32(device::Device& device, const Values& values);
// A tensor full of NaN, for an operation to write in full.
device::Tensor unwritten(device::Device& device, const device::Shape& shape,
                         device::DType dtype = device::DType::f32);
// Of f32, bf16 and f16 tensors; f64 ones are read by from_device_f64.
std::vector<float> from_device(device::Device& device, const device::Tensor& tensor);
std::vector<double> from_device_f64(device::Device& device, const device::Tensor& tensor);

// How near a result must come to the reference: half a unit in the last place of `dtype` for the rounding of
// the result, and for what was added up in f32 in another order, 2 terms 2^-24 of the sum of magnitudes.
struct Nearness {
  device::DType dtype = device::DType::f32;  // of the result
  std::int64_t terms = 2;                    // operations, one after the other, that lead to an element
  // For each element the sum of the magnitudes of its terms; empty: the result's own magnitude, for what
  // cancels nothing out.
  std::vector<float> magnitudes = {};
};
// NaN equals NaN alone, infinities themselves. Stops at the first element that is too far away.
void check_near(const std::vector<float>& got, const std::vector<float>& wanted, const Nearness& nearness);

// Appends to the file that LOCKSTEP_OP_BITS names, if any and if the device is a GPU, a line with the test's
// name and a hash of the values: two processes whose GPUs work in another order must write the same lines.
void write_bits(const Trial& trial, const std::vector<float>& values);
// Calls twice, from inputs that it must make anew each time, and wants the same bits. Comes back with them,
// and passes them to write_bits().
std::vector<float> repeated(const Trial& trial, const std::function<std::vector<float>()>& run);

}  // namespace lockstep::test
