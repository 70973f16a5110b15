// What the stand-in for cuDNN computes, and what it does not let pass.
#include <cudnn.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "child.h"
#include "device/cuda/cuda_device.h"
#include "device_array.h"

using Catch::Contains;

namespace {

// One image 3 x 3 of 2 channels, one filter 2 x 2, stride 1, padding 0; a test changes what it is about.
struct Convolution {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  int out_height = 2;
  int dilation = 1;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NHWC;
  cudnnConvolutionBwdFilterAlgo_t filter_algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
  float beta = 0.f;

  cudnnHandle_t library = nullptr;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t options = nullptr;
  std::size_t workspace_bytes = 0;

  void make(const Stream& stream) {
    cudnnCreate(&library);
    cudnnSetStream(library, stream.get());
    cudnnCreateTensorDescriptor(&x);
    cudnnCreateTensorDescriptor(&y);
    cudnnCreateFilterDescriptor(&w);
    cudnnCreateConvolutionDescriptor(&options);
    cudnnSetTensor4dDescriptor(x, format, type, 1, 2, 3, 3);
    cudnnSetTensor4dDescriptor(y, format, type, 1, 1, out_height, 2);
    cudnnSetFilter4dDescriptor(w, type, format, 1, 2, 2, 2);
    cudnnSetConvolution2dDescriptor(options, 0, 0, 1, 1, dilation, dilation, CUDNN_CROSS_CORRELATION,
                                    CUDNN_DATA_FLOAT);
    cudnnSetConvolutionMathType(options, math);
    cudnnGetConvolutionBackwardFilterWorkspaceSize(library, x, y, options, w, filter_algorithm,
                                                   &workspace_bytes);
  }

  cudnnStatus_t run_backward_filter(const void* x_data, const void* dy, void* dw, void* workspace) {
    const float alpha = 1.f;
    return cudnnConvolutionBackwardFilter(library, &alpha, x, x_data, y, dy, options, filter_algorithm,
                                          workspace, workspace_bytes, &beta, w, dw);
  }

  void destroy() {
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyConvolutionDescriptor(options);
    cudnnDestroy(library);
  }
};

const std::vector<float> image{1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60, 7, 70, 8, 80, 9, 90};  // [3, 3, 2]
const std::vector<float> filter{1, 0, 0, 0, 0, 0, 0, 0.1f};  // [2, 2, 2]: x(0, 0).0 + x(1, 1).1 / 10

std::string words_of(
    const std::function<void(Convolution&)>& change,
    const std::function<void(Convolution&)>& change_later = [](Convolution&) {}) {
  return death_of([&] {
    const Stream stream;
    Convolution convolution;
    change(convolution);
    convolution.make(stream);
    change_later(convolution);
    const DeviceArray<float> data(1024);
    const DeviceArray<std::uint8_t> workspace(4096);
    convolution.run_backward_filter(data.data(), data.data() + 256, data.data() + 512, workspace.data());
  });
}

}  // namespace

TEST_CASE("a convolution and its gradients", "[fake_gpu]") {
  CHECK(complaints_of([] {
          const Stream stream;
          const DeviceArray<float> x(image, stream);
          const DeviceArray<float> w(filter, stream);
          const DeviceArray<float> dy({1, 0, 0, 2}, stream);
          const DeviceArray<float> y(4);
          const DeviceArray<float> dx(18);
          const DeviceArray<float> dw(8);
          const DeviceArray<std::uint8_t> workspace(4096);
          const float one = 1.f;
          const float zero = 0.f;
          Convolution convolution;
          convolution.make(stream);
          std::size_t bytes = 0;
          EXPECT(cudnnGetConvolutionForwardWorkspaceSize(
                     convolution.library, convolution.x, convolution.w, convolution.options, convolution.y,
                     CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &bytes) == CUDNN_STATUS_SUCCESS);
          EXPECT(bytes <= 4096);
          EXPECT(cudnnConvolutionForward(convolution.library, &one, convolution.x, x.data(), convolution.w,
                                         w.data(), convolution.options,
                                         CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, workspace.data(),
                                         bytes, &zero, convolution.y, y.data()) == CUDNN_STATUS_SUCCESS);
          const std::vector<float> wanted{6, 8, 12, 14};
          EXPECT(y.values(stream) == wanted);
          EXPECT(cudnnConvolutionBackwardData(convolution.library, &one, convolution.w, w.data(),
                                              convolution.y, dy.data(), convolution.options,
                                              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, workspace.data(), bytes,
                                              &zero, convolution.x, dx.data()) == CUDNN_STATUS_SUCCESS);
          const std::vector<float> wanted_dx{1, 0, 0, 0, 0, 0, 0, 0, 2, 0.1f, 0, 0, 0, 0, 0, 0, 0, 0.2f};
          EXPECT(dx.values(stream) == wanted_dx);
          EXPECT(convolution.run_backward_filter(x.data(), dy.data(), dw.data(), workspace.data()) ==
                 CUDNN_STATUS_SUCCESS);
          const std::vector<float> wanted_dw{11, 110, 14, 140, 20, 200, 23, 230};
          EXPECT(dw.values(stream) == wanted_dw);
          convolution.destroy();
        }) == "");
}

TEST_CASE("what cuDNN would refuse, or what is not on the list, dies by name", "[fake_gpu]") {
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.out_height = 3; }),
             Contains("the sizes of images and filter do not fit"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.format = CUDNN_TENSOR_NCHW; }),
             Contains("format 0 is not on the list"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.type = CUDNN_DATA_INT8; }),
             Contains("type 3 is not on the list"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.math = CUDNN_TENSOR_OP_MATH; }),
             Contains("rounded to TF32"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.type = CUDNN_DATA_HALF; }),
             Contains("16-bit types without CUDNN_TENSOR_OP_MATH"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.dilation = 2; }), Contains("dilation"));
  CHECK_THAT(words_of([](Convolution& convolution) {
               convolution.filter_algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0;
             }),
             Contains("algorithm 0 is not on the list"));
  CHECK_THAT(words_of([](Convolution& convolution) { convolution.beta = 1.f; }),
             Contains("beta other than 0 is not on the list"));
  CHECK_THAT(words_of([](Convolution&) {}, [](Convolution& convolution) { --convolution.workspace_bytes; }),
             Contains("cudnnConvolutionBackwardFilter: a workspace of 543 bytes, where 544 are needed"));
  CHECK_THAT(words_of([](Convolution&) {},
                      [](Convolution& convolution) { cudnnDestroyFilterDescriptor(convolution.w); }),
             Contains("the filter descriptor was destroyed before"));
  CHECK_THAT(
      words_of([](Convolution&) {}, [](Convolution& convolution) { cudnnDestroy(convolution.library); }),
      Contains("the cuDNN handle was destroyed before"));
}

TEST_CASE("a fault is injected into a convolution, and told in words", "[fake_gpu]") {
  const auto failure_of = [](const char* fault) {
    return in_child({{"FAKE_GPU_FAULT", fault}},
                    [] {
                      lockstep::device::CudaDevice device(0);
                      device.conv2d_forward(device.empty({1, 4, 4, 2}), device.empty({3, 2, 1, 1}), {}, {},
                                            lockstep::device::Activation::none, device.empty({1, 4, 4, 3}));
                      device.synchronise();
                    })
        .output;
  };
  CHECK_THAT(
      failure_of("cudnnGetConvolutionForwardWorkspaceSize:1:CUDNN_STATUS_BAD_PARAM"),
      Contains("cudnnGetConvolutionForwardWorkspaceSize for 1 images [4, 4, 2] of f32, 3 filters [1, 1], "
               "stride 1, padding 0 failed: cuDNN says CUDNN_STATUS_BAD_PARAM: injected into"));
  CHECK_THAT(failure_of("cudnnCreate:1:CUDNN_STATUS_NOT_INITIALIZED"),
             Contains("cudnnCreate failed: cuDNN says CUDNN_STATUS_NOT_INITIALIZED"));
}
