#include "device/cuda/convolutions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "device/cuda/descriptor.h"
#include "device/cuda/library_check.h"

namespace lockstep::device::cuda {

namespace {

constexpr cudnnConvolutionFwdAlgo_t forward_algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr cudnnConvolutionBwdDataAlgo_t data_algorithm = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
constexpr cudnnConvolutionBwdFilterAlgo_t filter_algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
constexpr float one = 1.f;
constexpr float zero = 0.f;

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      throw Error(ExitCode::internal, fmt::format("no convolutions of type {}", name_of(dtype)));
  }
}

std::string text_of(const ConvolutionShape& shape) {
  return fmt::format("{} images [{}, {}, {}] of {}, {} filters [{}, {}], stride {}, padding {}", shape.n,
                     shape.height, shape.width, shape.in, name_of(shape.dtype), shape.out,
                     shape.kernel_height, shape.kernel_width, shape.stride, shape.padding);
}

using Images = Descriptor<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using Filter = Descriptor<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using Options = Descriptor<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

void make_images(Images& images, DType dtype, std::int64_t n, std::int64_t c, std::int64_t h,
                 std::int64_t w) {
  cudnn_check(cudnnCreateTensorDescriptor(images.out()), "cudnnCreateTensorDescriptor");
  cudnn_check(cudnnSetTensor4dDescriptor(images.get(), CUDNN_TENSOR_NHWC, type_of(dtype), static_cast<int>(n),
                                         static_cast<int>(c), static_cast<int>(h), static_cast<int>(w)),
              "cudnnSetTensor4dDescriptor");
}

}  // namespace

struct Convolution::Descriptors {
  Images x, y;
  Filter filter;
  Options options;
};

Convolution::Convolution(cudnnHandle_t library, const ConvolutionShape& shape)
    : library_(library), text_(text_of(shape)), descriptors_(std::make_unique<Descriptors>()) {
  const Conv2dOptions options{shape.stride, shape.padding};
  make_images(descriptors_->x, shape.dtype, shape.n, shape.in, shape.height, shape.width);
  make_images(descriptors_->y, shape.dtype, shape.n, shape.out,
              window_output(shape.height, shape.kernel_height, options),
              window_output(shape.width, shape.kernel_width, options));
  cudnn_check(cudnnCreateFilterDescriptor(descriptors_->filter.out()), "cudnnCreateFilterDescriptor");
  cudnn_check(
      cudnnSetFilter4dDescriptor(descriptors_->filter.get(), type_of(shape.dtype), CUDNN_TENSOR_NHWC,
                                 static_cast<int>(shape.out), static_cast<int>(shape.in),
                                 static_cast<int>(shape.kernel_height), static_cast<int>(shape.kernel_width)),
      "cudnnSetFilter4dDescriptor");
  cudnn_check(cudnnCreateConvolutionDescriptor(descriptors_->options.out()),
              "cudnnCreateConvolutionDescriptor");
  const int stride = static_cast<int>(shape.stride);
  const int padding = static_cast<int>(shape.padding);
  cudnn_check(cudnnSetConvolution2dDescriptor(descriptors_->options.get(), padding, padding, stride, stride,
                                              1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
              "cudnnSetConvolution2dDescriptor");
  cudnn_check(cudnnSetConvolutionMathType(descriptors_->options.get(),
                                          shape.dtype == DType::f32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
              "cudnnSetConvolutionMathType");
}

Convolution::~Convolution() = default;

std::int64_t Convolution::forward_workspace() {
  if (forward_workspace_ == 0) {
    std::size_t bytes = 0;
    cudnn_check(cudnnGetConvolutionForwardWorkspaceSize(
                    library_, descriptors_->x.get(), descriptors_->filter.get(), descriptors_->options.get(),
                    descriptors_->y.get(), forward_algorithm, &bytes),
                "cudnnGetConvolutionForwardWorkspaceSize", text_);
    forward_workspace_ = std::max(static_cast<std::int64_t>(bytes), std::int64_t{1});
  }
  return forward_workspace_;
}

std::int64_t Convolution::backward_data_workspace() {
  if (backward_data_workspace_ == 0) {
    std::size_t bytes = 0;
    cudnn_check(cudnnGetConvolutionBackwardDataWorkspaceSize(
                    library_, descriptors_->filter.get(), descriptors_->y.get(), descriptors_->options.get(),
                    descriptors_->x.get(), data_algorithm, &bytes),
                "cudnnGetConvolutionBackwardDataWorkspaceSize", text_);
    backward_data_workspace_ = std::max(static_cast<std::int64_t>(bytes), std::int64_t{1});
  }
  return backward_data_workspace_;
}

std::int64_t Convolution::backward_filter_workspace() {
  if (backward_filter_workspace_ == 0) {
    std::size_t bytes = 0;
    cudnn_check(cudnnGetConvolutionBackwardFilterWorkspaceSize(
                    library_, descriptors_->x.get(), descriptors_->y.get(), descriptors_->options.get(),
                    descriptors_->filter.get(), filter_algorithm, &bytes),
                "cudnnGetConvolutionBackwardFilterWorkspaceSize", text_);
    backward_filter_workspace_ = std::max(static_cast<std::int64_t>(bytes), std::int64_t{1});
  }
  return backward_filter_workspace_;
}

void Convolution::forward(const Tensor& x, const Tensor& filter, const Tensor& workspace, const Tensor& y) {
  cudnn_check(
      cudnnConvolutionForward(library_, &one, descriptors_->x.get(), x.data(), descriptors_->filter.get(),
                              filter.data(), descriptors_->options.get(), forward_algorithm, workspace.data(),
                              workspace.bytes(), &zero, descriptors_->y.get(), y.data()),
      "cudnnConvolutionForward", text_);
}

void Convolution::backward_data(const Tensor& dy, const Tensor& filter, const Tensor& workspace,
                                const Tensor& dx) {
  cudnn_check(cudnnConvolutionBackwardData(library_, &one, descriptors_->filter.get(), filter.data(),
                                           descriptors_->y.get(), dy.data(), descriptors_->options.get(),
                                           data_algorithm, workspace.data(), workspace.bytes(), &zero,
                                           descriptors_->x.get(), dx.data()),
              "cudnnConvolutionBackwardData", text_);
}

void Convolution::backward_filter(const Tensor& x, const Tensor& dy, const Tensor& workspace,
                                  const Tensor& dfilter) {
  cudnn_check(cudnnConvolutionBackwardFilter(library_, &one, descriptors_->x.get(), x.data(),
                                             descriptors_->y.get(), dy.data(), descriptors_->options.get(),
                                             filter_algorithm, workspace.data(), workspace.bytes(), &zero,
                                             descriptors_->filter.get(), dfilter.data()),
              "cudnnConvolutionBackwardFilter", text_);
}

Convolutions::Convolutions(cudaStream_t stream) {
  cudnn_check(cudnnCreate(library_.out()), "cudnnCreate");
  cudnn_check(cudnnSetStream(library_.get(), stream), "cudnnSetStream");
}

Convolution& Convolutions::of(const ConvolutionShape& shape) {
  std::unique_ptr<Convolution>& convolution = convolutions_[shape];
  if (!convolution) convolution = std::make_unique<Convolution>(library_.get(), shape);
  return *convolution;
}

}  // namespace lockstep::device::cuda
