// Convolutions by cuDNN's calls of one operation each (cudnnConvolutionForward and so on; deprecated in
// favour of graphs, but complete), on images in NHWC and filters in [out, kh, kw, in].
//
// Algorithms. Images and filters in NHWC are documented (cuDNN API reference, supported configurations of the
// three calls) for forward IMPLICIT_GEMM and IMPLICIT_PRECOMP_GEMM and for backward ALGO_0 and ALGO_1, in two
// dimensions, packed, x, w and y of one type, sums in f32: FLOAT_CONFIG and PSEUDO_HALF_CONFIG; bf16
// (PSEUDO_BFLOAT16_CONFIG) is taken to be where f16 is. Not deterministic are ALGO_0 of both backward
// directions and ALGO_3 (cuDNN developer guide, "Reproducibility"). That leaves IMPLICIT_PRECOMP_GEMM and
// twice ALGO_1: no search, no trial, the same bits at each start. Where cuDNN refuses these, the other
// deterministic ones follow in a fixed order (algorithm_choice.h): refused in turn, or as good. f32 takes
// FMA_MATH, since any other type may round to TF32.
#pragma once

#include <cudnn.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "device/cuda/algorithm_choice.h"
#include "device/cuda/descriptor.h"
#include "device/device.h"
#include "device/tensor.h"

namespace lockstep::device::cuda {

struct ConvolutionShape {
  std::int64_t n, height, width, in, out, kernel_height, kernel_width, stride, padding;
  DType dtype;  // of images and filter
  auto operator<=>(const ConvolutionShape&) const = default;
};

// One shape's descriptors and algorithms.
class Convolution {
 public:
  Convolution(cudnnHandle_t library, const ConvolutionShape& shape);
  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // All tensors of the shape's type. The result is overwritten. `workspace` is asked once, or once more for
  // each algorithm that cuDNN refuses.
  void forward(const Tensor& x, const Tensor& filter, const Workspace& workspace, const Tensor& y);
  void backward_data(const Tensor& dy, const Tensor& filter, const Workspace& workspace, const Tensor& dx);
  void backward_filter(const Tensor& x, const Tensor& dy, const Workspace& workspace, const Tensor& dfilter);

 private:
  struct Descriptors;

  cudnnHandle_t library_;
  std::string text_;  // for errors
  std::unique_ptr<Descriptors> descriptors_;
  AlgorithmChoice<cudnnConvolutionFwdAlgo_t> forward_;
  AlgorithmChoice<cudnnConvolutionBwdDataAlgo_t> backward_data_;
  AlgorithmChoice<cudnnConvolutionBwdFilterAlgo_t> backward_filter_;
};

class Convolutions {
 public:
  explicit Convolutions(cudaStream_t stream);  // of all calls

  Convolution& of(const ConvolutionShape& shape);

 private:
  Descriptor<cudnnHandle_t, cudnnDestroy> library_;
  std::map<ConvolutionShape, std::unique_ptr<Convolution>> convolutions_;
};

}  // namespace lockstep::device::cuda
