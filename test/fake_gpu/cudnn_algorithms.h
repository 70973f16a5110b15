// The algorithms of cuDNN's convolutions that the stand-in knows: those that the real library documents as
// deterministic (not so are ALGO_0 of both backward directions and ALGO_3, which add by atomics).
#pragma once

#include <cudnn.h>

#include <cstddef>

namespace fake_gpu::dnn {

enum class Method { product, winograd, winograd_nonfused, fft_tiling, fft };

struct Algorithm {
  const char* name;
  Method method;
  std::size_t place;  // in its list
};

// Die where it is not on the list.
Algorithm listed(const char* call, cudnnConvolutionFwdAlgo_t algorithm);
Algorithm listed(const char* call, cudnnConvolutionBwdDataAlgo_t algorithm);
Algorithm listed(const char* call, cudnnConvolutionBwdFilterAlgo_t algorithm);

struct Window {
  std::size_t image_height, image_width, height, width, stride_h, stride_w, padding_h, padding_w;
};

// As documented of each algorithm, whatever the layout.
bool takes(Method method, const Window& window);

}  // namespace fake_gpu::dnn
