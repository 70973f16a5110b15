#include "device/cuda/convolutions.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "core/error.h"
#include "device/cuda/descriptor.h"
#include "device/cuda/library_check.h"

namespace lockstep::device::cuda {

namespace {

// Those that need much memory come last.
constexpr std::array<NamedAlgorithm<cudnnConvolutionFwdAlgo_t>, 3> forward_algorithms{{
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, "IMPLICIT_PRECOMP_GEMM"},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, "IMPLICIT_GEMM"},
    {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, "GEMM"},
}};
constexpr std::array<NamedAlgorithm<cudnnConvolutionBwdDataAlgo_t>, 5> data_algorithms{{
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, "ALGO_1"},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, "WINOGRAD"},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, "WINOGRAD_NONFUSED"},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, "FFT_TILING"},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, "FFT"},
}};
constexpr std::array<NamedAlgorithm<cudnnConvolutionBwdFilterAlgo_t>, 4> filter_algorithms{{
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, "ALGO_1"},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, "WINOGRAD_NONFUSED"},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, "FFT_TILING"},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, "FFT"},
}};
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
    : library_(library),
      text_(text_of(shape)),
      descriptors_(std::make_unique<Descriptors>()),
      forward_("cudnnGetConvolutionForwardWorkspaceSize", "cudnnConvolutionForward", forward_algorithms),
      backward_data_("cudnnGetConvolutionBackwardDataWorkspaceSize", "cudnnConvolutionBackwardData",
                     data_algorithms),
      backward_filter_("cudnnGetConvolutionBackwardFilterWorkspaceSize", "cudnnConvolutionBackwardFilter",
                       filter_algorithms) {
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

void Convolution::forward(const Tensor& x, const Tensor& filter, const Workspace& workspace,
                          const Tensor& y) {
  const Descriptors& d = *descriptors_;
  forward_.run(
      text_, workspace,
      [&](auto algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionForwardWorkspaceSize(library_, d.x.get(), d.filter.get(), d.options.get(),
                                                       d.y.get(), algorithm, bytes);
      },
      [&](auto algorithm, const Tensor& scratch) {
        return cudnnConvolutionForward(library_, &one, d.x.get(), x.data(), d.filter.get(), filter.data(),
                                       d.options.get(), algorithm, scratch.data(), scratch.bytes(), &zero,
                                       d.y.get(), y.data());
      });
}

void Convolution::backward_data(const Tensor& dy, const Tensor& filter, const Workspace& workspace,
                                const Tensor& dx) {
  const Descriptors& d = *descriptors_;
  backward_data_.run(
      text_, workspace,
      [&](auto algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardDataWorkspaceSize(library_, d.filter.get(), d.y.get(),
                                                            d.options.get(), d.x.get(), algorithm, bytes);
      },
      [&](auto algorithm, const Tensor& scratch) {
        return cudnnConvolutionBackwardData(library_, &one, d.filter.get(), filter.data(), d.y.get(),
                                            dy.data(), d.options.get(), algorithm, scratch.data(),
                                            scratch.bytes(), &zero, d.x.get(), dx.data());
      });
}

void Convolution::backward_filter(const Tensor& x, const Tensor& dy, const Workspace& workspace,
                                  const Tensor& dfilter) {
  const Descriptors& d = *descriptors_;
  backward_filter_.run(
      text_, workspace,
      [&](auto algorithm, std::size_t* bytes) {
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(library_, d.x.get(), d.y.get(), d.options.get(),
                                                              d.filter.get(), algorithm, bytes);
      },
      [&](auto algorithm, const Tensor& scratch) {
        return cudnnConvolutionBackwardFilter(library_, &one, d.x.get(), x.data(), d.y.get(), dy.data(),
                                              d.options.get(), algorithm, scratch.data(), scratch.bytes(),
                                              &zero, d.filter.get(), dfilter.data());
      });
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
