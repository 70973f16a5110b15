// What the checks of operations on a GPU share. They need a CUDA device and nothing else that is not in the
// repository: no oneDNN, no test framework. The reference is made here by plain loops in f64.
//
// Most inputs are small multiples of 1/8: the types of 16 bits hold them, and f32 holds all their sums of
// products, in any order. So a result must be the very number, rounded once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace lockstep::device {
class CudaDevice;
}

namespace lockstep::gpu_ops {

using device::Device;
using device::DType;
using device::Shape;
using device::Tensor;

using Values = std::vector<double>;

class Checks {
 public:
  explicit Checks(Device& device) : device_(device) {}

  Device& device() { return device_; }
  // One line for each check. Runs it, and counts an exception as a failure.
  void run(const std::string& name, const std::function<void()>& body);
  // Inside run(): what was found wrong first is told.
  void equal(std::string_view what, const Tensor& got, const Values& wanted) { near(what, got, wanted, 0.); }
  // Within `tolerance` times the magnitude beyond half a unit of the result's type.
  void near(std::string_view what, const Tensor& got, const Values& wanted, double tolerance);
  void same(std::string_view what, const Tensor& got, const std::vector<std::uint8_t>& wanted);
  // Runs twice, and wants the same bits.
  void repeats(std::string_view what, const std::function<Tensor()>& make);
  void wrong(const std::string& text);
  // What a GPU may do in one way or another: a line that is neither a pass nor a failure.
  static void tell(const std::string& text);

  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  Device& device_;
  std::string fault_;
  int passed_ = 0;
  int failed_ = 0;
};

// The nearest value of the type, ties to even.
double rounded(double value, DType dtype);
// -2 .. 2 in steps of 1/8, the same for the same seed.
double gelu(double x);  // with tanh
Values simple_values(std::int64_t count, unsigned seed);
// Uniform in -1 .. 1 with all bits of f32.
Values full_values(std::int64_t count, unsigned seed);

Tensor upload(Device& device, const Shape& shape, const Values& values, DType dtype = DType::f32);
Values download(Device& device, const Tensor& tensor);
std::string type_of(DType dtype);
inline constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};

void check_products(Checks& checks);
void check_convolutions(Checks& checks);
void check_elementwise(Checks& checks);
void check_images(Checks& checks);
void check_losses(Checks& checks);

// TFLOP/s of matrix products: the best of cuBLASLt's algorithms, and the share of it that a layer gets.
void measure_products(device::CudaDevice& device);

}  // namespace lockstep::gpu_ops
