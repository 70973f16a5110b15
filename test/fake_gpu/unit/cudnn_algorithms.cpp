// What becomes of a convolution where cuDNN refuses the algorithm that comes first.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "child.h"
#include "device/cuda/cuda_device.h"

using Catch::Contains;

namespace {

using lockstep::device::Conv2dOptions;
using lockstep::device::CudaDevice;
using lockstep::device::Shape;
using lockstep::device::Tensor;

Tensor made(CudaDevice& device, const Shape& shape, float seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(seed * static_cast<float>(i + 1));
  Tensor tensor = device.empty(shape);
  device.upload(values, tensor);
  return tensor;
}

void print(CudaDevice& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape().count()));
  device.download(tensor, values);
  for (const float value : values) std::printf("%a ", static_cast<double>(value));
}

// Images [5, 5, 2], 3 filters of kernel x kernel, padding 1: the output and both gradients, in two steps.
std::string values_of(std::int64_t kernel, const Conv2dOptions& options, const std::string& faults) {
  return in_child({{"FAKE_GPU_FAULT", faults}},
                  [&] {
                    CudaDevice device(0);
                    const std::int64_t size = lockstep::device::window_output(5, kernel, options);
                    const Tensor x = made(device, {2, 5, 5, 2}, 0.3f);
                    const Tensor weight = made(device, {3, 2, kernel, kernel}, 0.7f);
                    const Tensor dy = made(device, {2, size, size, 3}, 1.1f);
                    const Tensor y = device.empty(dy.shape()), dx = device.empty(x.shape());
                    const Tensor dweight = device.empty(weight.shape());
                    for (int step = 0; step < 2; ++step) {
                      device.conv2d_forward(x, weight, {}, options, lockstep::device::Activation::none, y);
                      device.conv2d_backward_data(dy, weight, options, dx);
                      device.conv2d_backward_weights(x, dy, options, false, dweight, {});
                      for (const Tensor& tensor : {y, dx, dweight}) print(device, tensor);
                    }
                    std::fflush(stdout);
                  })
      .output;
}

}  // namespace

TEST_CASE("where cuDNN refuses an algorithm, the next one does the same", "[fake_gpu]") {
  const std::string unrefused = values_of(3, {1, 1}, "");
  CHECK_THAT(unrefused, Contains("0x") && !Contains("failed"));
  // Refused by the call that asks for the workspace, or by the convolution itself; the choice is kept.
  const std::string refusals =
      "cudnnGetConvolutionForwardWorkspaceSize(IMPLICIT_PRECOMP_GEMM):1:CUDNN_STATUS_NOT_SUPPORTED,"
      "cudnnGetConvolutionForwardWorkspaceSize(IMPLICIT_PRECOMP_GEMM):2:CUDNN_STATUS_EXECUTION_FAILED,"
      "cudnnConvolutionForward(IMPLICIT_GEMM):1:CUDNN_STATUS_NOT_SUPPORTED_LAYOUT,"
      "cudnnConvolutionForward(IMPLICIT_GEMM):2:CUDNN_STATUS_EXECUTION_FAILED,"
      "cudnnGetConvolutionForwardWorkspaceSize(GEMM):2:CUDNN_STATUS_EXECUTION_FAILED,"
      "cudnnConvolutionBackwardData(ALGO_1):1:CUDNN_STATUS_NOT_SUPPORTED,"
      "cudnnConvolutionBackwardData(ALGO_1):2:CUDNN_STATUS_EXECUTION_FAILED,"
      "cudnnGetConvolutionBackwardFilterWorkspaceSize(ALGO_1):1:CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH,"
      "cudnnGetConvolutionBackwardFilterWorkspaceSize(ALGO_1):2:CUDNN_STATUS_EXECUTION_FAILED";
  CHECK(values_of(3, {1, 1}, refusals) == unrefused);
  // It is those that are run.
  for (const char* call : {"cudnnConvolutionForward(GEMM)", "cudnnConvolutionBackwardData(WINOGRAD)",
                           "cudnnConvolutionBackwardFilter(WINOGRAD_NONFUSED)"}) {
    CHECK_THAT(values_of(3, {1, 1}, refusals + "," + call + ":2:CUDNN_STATUS_EXECUTION_FAILED"),
               Contains(std::string("injected into ") + call));
  }
}

TEST_CASE("an algorithm that is not for a filter is passed over", "[fake_gpu]") {
  // Winograd's are for filters of 3 x 3 and 5 x 5.
  const std::string refusals =
      "cudnnConvolutionBackwardData(ALGO_1):1:CUDNN_STATUS_NOT_SUPPORTED,"
      "cudnnConvolutionBackwardFilter(ALGO_1):1:CUDNN_STATUS_NOT_SUPPORTED";
  const std::string unrefused = values_of(2, {1, 1}, "");
  CHECK_THAT(unrefused, Contains("0x") && !Contains("failed"));
  CHECK(values_of(2, {1, 1}, refusals) == unrefused);
  for (const char* call :
       {"cudnnConvolutionBackwardData(FFT_TILING)", "cudnnConvolutionBackwardFilter(FFT_TILING)"}) {
    CHECK_THAT(values_of(2, {1, 1}, refusals + "," + call + ":2:CUDNN_STATUS_EXECUTION_FAILED"),
               Contains(std::string("injected into ") + call));
  }
}

TEST_CASE("where cuDNN takes a convolution by no algorithm, the error tells what it said to each",
          "[fake_gpu]") {
  CHECK_THAT(
      values_of(3, {2, 1}, "cudnnConvolutionBackwardData(ALGO_1):1:CUDNN_STATUS_NOT_SUPPORTED"),
      Contains(
          "cudnnConvolutionBackwardData for 2 images [5, 5, 2] of f32, 3 filters [3, 3], stride 2, padding 1 "
          "failed: cuDNN takes it by none of its deterministic algorithms (ALGO_1: "
          "CUDNN_STATUS_NOT_SUPPORTED: injected into cudnnConvolutionBackwardData(ALGO_1); WINOGRAD: "
          "CUDNN_STATUS_NOT_SUPPORTED_SHAPE: ") &&
          Contains("; WINOGRAD_NONFUSED: CUDNN_STATUS_NOT_SUPPORTED_SHAPE: ") &&
          Contains("; FFT_TILING: CUDNN_STATUS_NOT_SUPPORTED_SHAPE: ") &&
          Contains("; FFT: CUDNN_STATUS_NOT_SUPPORTED_SHAPE: ") &&
          Contains("; another version of cuDNN or another train.precision may help"));
}
