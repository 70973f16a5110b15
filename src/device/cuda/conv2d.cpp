// Convolutions by cuDNN. In 16-bit types it makes the gradient of the filter in that type, so that this is
// rounded once more than other gradients before it is added up in f32.
#include "device/cuda/bias.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/filter_layout.h"
#include "device/cuda/libraries.h"

namespace lockstep::device {

namespace {

// Checks the three shapes against each other; x and y may be gradients.
cuda::ConvolutionShape shape_of(const Tensor& x, const Shape& weight, const Tensor& y,
                                const Conv2dOptions& options) {
  const Shape& s = x.shape();
  require_shape(x, {s[0], s[1], s[2], weight[1]}, "conv2d: image in");
  require_shape(
      y, {s[0], window_output(s[1], weight[2], options), window_output(s[2], weight[3], options), weight[0]},
      "conv2d: image out");
  require_type(y, x.dtype(), "conv2d: image out");
  return {s[0],      s[1],      s[2],           weight[1],       weight[0],
          weight[2], weight[3], options.stride, options.padding, x.dtype()};
}

bool layouts_agree(const Shape& weight) {
  return weight[1] == 1 || weight[2] * weight[3] == 1;
}

// The weight as cuDNN wants it.
Tensor filter_of(Device& device, cudaStream_t stream, const Tensor& weight, DType dtype) {
  require_type(weight, dtype, "conv2d: weight");
  if (layouts_agree(weight.shape())) return weight;
  Tensor filter = device.empty(weight.shape(), dtype);
  cuda::weight_to_filter(stream, weight, filter);
  return filter;
}

cuda::Workspace workspace_of(Device& device) {
  return [&device](std::int64_t bytes) { return device.empty({bytes}, DType::u8); };
}

}  // namespace

void CudaDevice::conv2d_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                const Conv2dOptions& options, Activation activation, const Tensor& y) {
  const bool relu = is_relu(activation, "conv2d");
  const cuda::ConvolutionShape shape = shape_of(x, weight.shape(), y, options);
  if (bias) require_shape(bias, {shape.out}, "conv2d: bias");
  libraries().convolutions.of(shape).forward(x, filter_of(*this, stream(), weight, x.dtype()),
                                             workspace_of(*this), y);
  if (bias || relu) cuda::add_bias(stream(), bias, relu, y);
}

void CudaDevice::conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Conv2dOptions& options,
                                      const Tensor& dx) {
  cuda::Convolution& convolution = libraries().convolutions.of(shape_of(dx, weight.shape(), dy, options));
  convolution.backward_data(dy, filter_of(*this, stream(), weight, dy.dtype()), workspace_of(*this), dx);
}

void CudaDevice::conv2d_backward_weights(const Tensor& x, const Tensor& dy, const Conv2dOptions& options,
                                         bool accumulate, const Tensor& dweight, const Tensor& dbias) {
  const cuda::ConvolutionShape shape = shape_of(x, dweight.shape(), dy, options);
  if (dbias) require_shape(dbias, {shape.out}, "conv2d backward: dbias");
  const Tensor dfilter = empty(dweight.shape(), x.dtype());
  libraries().convolutions.of(shape).backward_filter(x, dy, workspace_of(*this), dfilter);
  cuda::filter_to_weight(stream(), dfilter, accumulate, dweight);
  if (dbias) cuda::sum_rows(stream(), dy, empty(cuda::row_sums_shape(dy)), accumulate, dbias);
}

}  // namespace lockstep::device
