#include "device/cpu/bf16_support.h"
#include "device/cpu/convolution_cache.h"
#include "device/cpu/cpu_device.h"

namespace lockstep::device {

namespace {

// Checks the three shapes against each other; x and y may be gradients.
cpu::ConvolutionShape shape_of(const Tensor& x, const Shape& weight, const Tensor& y,
                               const Conv2dOptions& options) {
  const Shape& s = x.shape();
  require_shape(x, {s[0], s[1], s[2], weight[1]}, "conv2d: image in");
  require_shape(
      y, {s[0], window_output(s[1], weight[2], options), window_output(s[2], weight[3], options), weight[0]},
      "conv2d: image out");
  return {s[0],  s[1],  s[2],     weight[1], weight[0], weight[2], weight[3], options.stride, options.padding,
          false, false, x.dtype()};
}

// nullptr where it is to be made in f32.
cpu::Convolution* of_type(const cpu::ConvolutionShape& shape, cpu::ConvolutionCache& cache,
                          cpu::Convolution* (cpu::ConvolutionCache::*find)(const cpu::ConvolutionShape&)) {
  if (shape.type == DType::f16) return nullptr;
  if (shape.type == DType::bf16 && cpu::bf16_instructions().empty()) return nullptr;
  return (cache.*find)(shape);
}

void reorder_weights(cpu::Convolution& convolution, bool gradient, dnnl::stream& stream) {
  if (!convolution.reorder) return;
  if (gradient) {
    convolution.reorder->execute(stream, convolution.weights, convolution.plain_weights);
  } else {
    convolution.reorder->execute(stream, convolution.plain_weights, convolution.weights);
  }
}

}  // namespace

void CpuDevice::conv2d_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               const Conv2dOptions& options, Activation activation, const Tensor& y) {
  cpu::ConvolutionShape shape = shape_of(x, weight.shape(), y, options);
  shape.bias = static_cast<bool>(bias);
  if (shape.bias) require_shape(bias, {shape.out}, "conv2d: bias");
  shape.relu = is_relu(activation, "conv2d");
  cpu::Convolution* convolution = of_type(shape, *convolutions_, &cpu::ConvolutionCache::forward);
  if (convolution == nullptr) {
    const Tensor wide = empty(y.shape());
    conv2d_forward(widened(x), widened(weight), bias, options, activation, wide);
    cast(wide, y);
    return;
  }
  convolution->image_in.set_data_handle(x.data());
  convolution->image_out.set_data_handle(y.data());
  convolution->plain_weights.set_data_handle(weight.data());
  if (shape.bias) convolution->bias.set_data_handle(bias.f32());
  reorder_weights(*convolution, false, convolutions_->stream());
  convolution->primitive.execute(convolutions_->stream(), convolution->arguments);
}

void CpuDevice::conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Conv2dOptions& options,
                                     const Tensor& dx) {
  const cpu::ConvolutionShape shape = shape_of(dx, weight.shape(), dy, options);
  cpu::Convolution* convolution = of_type(shape, *convolutions_, &cpu::ConvolutionCache::backward_data);
  if (convolution == nullptr) {
    const Tensor wide = empty(dx.shape());
    conv2d_backward_data(widened(dy), widened(weight), options, wide);
    cast(wide, dx);
    return;
  }
  convolution->image_in.set_data_handle(dy.data());
  convolution->image_out.set_data_handle(dx.data());
  convolution->plain_weights.set_data_handle(weight.data());
  reorder_weights(*convolution, false, convolutions_->stream());
  convolution->primitive.execute(convolutions_->stream(), convolution->arguments);
}

void CpuDevice::conv2d_backward_weights(const Tensor& x, const Tensor& dy, const Conv2dOptions& options,
                                        bool accumulate, const Tensor& dweight, const Tensor& dbias) {
  cpu::ConvolutionShape shape = shape_of(x, dweight.shape(), dy, options);
  shape.bias = static_cast<bool>(dbias);
  if (shape.bias) require_shape(dbias, {shape.out}, "conv2d backward: dbias");
  cpu::Convolution* convolution = of_type(shape, *convolutions_, &cpu::ConvolutionCache::backward_weights);
  if (convolution == nullptr) {
    conv2d_backward_weights(widened(x), widened(dy), options, accumulate, dweight, dbias);
    return;
  }
  // oneDNN overwrites: a gradient that is to be added to is made aside first. It is small beside the images.
  const Tensor weight_part = accumulate ? empty(dweight.shape()) : dweight;
  const Tensor bias_part = accumulate && shape.bias ? empty(dbias.shape()) : dbias;
  convolution->image_in.set_data_handle(x.data());
  convolution->image_out.set_data_handle(dy.data());
  convolution->plain_weights.set_data_handle(weight_part.f32());
  if (shape.bias) convolution->bias.set_data_handle(bias_part.f32());
  convolution->primitive.execute(convolutions_->stream(), convolution->arguments);
  reorder_weights(*convolution, true, convolutions_->stream());
  if (accumulate) {
    axpy(1.f, weight_part, dweight);
    if (shape.bias) axpy(1.f, bias_part, dbias);
  }
}

}  // namespace lockstep::device
