// What the stand-in for cuDNN keeps of a program's handles and descriptors (test/fake_gpu/cudnn*.cpp).
#pragma once

#include <cudnn.h>

#include <optional>
#include <string>

#include "handles.h"
#include "numbers.h"

namespace fake_gpu::dnn {

struct Library {
  cudaStream_t stream = nullptr;
};

struct Images {  // pixel by pixel, the channels of a pixel beside each other
  Number type = Number::f32;
  std::size_t n = 0, channels = 0, height = 0, width = 0;  // 0: not set yet
  std::size_t count() const { return n * channels * height * width; }
};

struct Filter {  // [out, height, width, in]
  Number type = Number::f32;
  std::size_t out = 0, in = 0, height = 0, width = 0;
  std::size_t count() const { return out * in * height * width; }
};

struct Convolution {
  std::size_t padding_h = 0, padding_w = 0, stride_h = 0, stride_w = 0;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

Handles<cudnnHandle_t, Library>& libraries();
Handles<cudnnTensorDescriptor_t, Images>& image_descriptors();
Handles<cudnnFilterDescriptor_t, Filter>& filter_descriptors();
Handles<cudnnConvolutionDescriptor_t, Convolution>& convolution_descriptors();

// The status that is to be injected into this call, if one is.
std::optional<cudnnStatus_t> fault(const std::string& call);
// The status, with what cudnnGetLastErrorString() has to say of it.
cudnnStatus_t failed(cudnnStatus_t status, const std::string& why);

}  // namespace fake_gpu::dnn
