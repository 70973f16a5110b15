// oneDNN convolutions, made once per shape: building one compiles code, running it should not. Inside
// src/device/cpu only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>

#include "device/device.h"

namespace lockstep::device::cpu {

struct ConvolutionShape {
  std::int64_t n, height, width, in, out, kernel_height, kernel_width, stride, padding;
  bool relu;   // forward only
  bool bias;   // not in the backward data pass
  DType type;  // of images, and of weights: their gradient is f32
  auto operator<=>(const ConvolutionShape&) const = default;
};

// One primitive whose weights lie in the order that it asked for, and the reorder between that order and
// PyTorch's [out, in, kh, kw]. Arguments are bound per call by address.
struct Convolution {
  dnnl::primitive primitive;
  std::optional<dnnl::reorder> reorder;    // weights: into its order before, or gradient: out of it after
  dnnl::memory plain_weights;              // in PyTorch's order, bound per call
  dnnl::memory weights;                    // in the primitive's order
  dnnl::memory image_in, image_out, bias;  // bound per call; bias may be empty
  std::unordered_map<int, dnnl::memory> arguments;
};

class ConvolutionCache {
 public:
  ConvolutionCache() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  // nullptr where oneDNN has nothing for another type than f32 on this processor that is faster than f32.
  Convolution* forward(const ConvolutionShape& shape);
  Convolution* backward_data(const ConvolutionShape& shape);
  Convolution* backward_weights(const ConvolutionShape& shape);
  dnnl::stream& stream() { return stream_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::map<ConvolutionShape, std::optional<Convolution>> forward_, backward_data_, backward_weights_;
};

}  // namespace lockstep::device::cpu
