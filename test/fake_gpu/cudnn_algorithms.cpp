#include "cudnn_algorithms.h"

#include <algorithm>
#include <array>
#include <string>

#include "stream.h"

namespace fake_gpu::dnn {

namespace {

template <typename Value>
struct Row {
  Value value;
  const char* name;
  Method method = Method::product;
};

constexpr std::array<Row<cudnnConvolutionFwdAlgo_t>, 3> forward{{
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, "IMPLICIT_PRECOMP_GEMM"},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, "IMPLICIT_GEMM"},
    {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, "GEMM"},
}};
constexpr std::array<Row<cudnnConvolutionBwdDataAlgo_t>, 5> data{{
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, "ALGO_1"},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, "WINOGRAD", Method::winograd},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, "WINOGRAD_NONFUSED", Method::winograd_nonfused},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, "FFT_TILING", Method::fft_tiling},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, "FFT", Method::fft},
}};
constexpr std::array<Row<cudnnConvolutionBwdFilterAlgo_t>, 4> filter{{
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, "ALGO_1"},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, "WINOGRAD_NONFUSED", Method::winograd_nonfused},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, "FFT_TILING", Method::fft_tiling},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, "FFT", Method::fft},
}};

template <typename Value, std::size_t count>
Algorithm find(const char* call, const std::array<Row<Value>, count>& list, Value value) {
  const auto row =
      std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.value == value; });
  if (row == list.end()) {
    die(std::string(call) + ": algorithm " + std::to_string(static_cast<int>(value)) + " is not on the list");
  }
  return {row->name, row->method, static_cast<std::size_t>(row - list.begin())};
}

}  // namespace

Algorithm listed(const char* call, cudnnConvolutionFwdAlgo_t algorithm) {
  return find(call, forward, algorithm);
}

Algorithm listed(const char* call, cudnnConvolutionBwdDataAlgo_t algorithm) {
  return find(call, data, algorithm);
}

Algorithm listed(const char* call, cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return find(call, filter, algorithm);
}

bool takes(Method method, const Window& window) {
  const auto square = [&](std::size_t size) { return window.height == size && window.width == size; };
  if (method == Method::product) return true;
  if (window.stride_h != 1 || window.stride_w != 1) return false;
  if (method == Method::winograd) return square(3);
  if (method == Method::winograd_nonfused) return square(3) || square(5);
  if (window.height <= window.padding_h || window.width <= window.padding_w) return false;
  if (method == Method::fft_tiling) return window.height <= 32 && window.width <= 32;
  return window.image_height + 2 * window.padding_h <= 256 &&
         window.image_width + 2 * window.padding_w <= 256;
}

}  // namespace fake_gpu::dnn
