#include "device/cuda/bias.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/libraries.h"

namespace lockstep::device {

void CudaDevice::linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                Activation activation, const Tensor& pre, const Tensor& y) {
  const std::int64_t n = x.shape()[0];
  const std::int64_t in = x.shape()[1];
  const std::int64_t out = weight.shape()[0];
  require_shape(weight, {out, in}, "linear: weight");
  require_shape(bias, {out}, "linear: bias");
  require_shape(y, {n, out}, "linear: y");
  require_type(weight, x.dtype(), "linear: weight");
  require_type(y, x.dtype(), "linear: y");
  // cuBLASLt adds a bias of y's type in the same pass, and none of another.
  Tensor narrow_bias = bias;
  if (y.dtype() != DType::f32) {
    narrow_bias = empty({out}, y.dtype());
    cast(bias, narrow_bias);
  }
  cuda::MatrixProducts& products = libraries().products;
  if (activation != Activation::gelu) {
    products.multiply(stream(), {x, false}, {weight, true}, narrow_bias, activation, false, y);
    return;
  }
  require_shape(pre, y.shape(), "linear: pre");
  require_type(pre, y.dtype(), "linear: pre");
  // How exact cuBLASLt's GELU is, is not documented, and it is seen to differ from tanh: little to 16 bits,
  // but much to f32.
  if (y.dtype() != DType::f32 &&
      products.multiply_gelu(stream(), {x, false}, {weight, true}, narrow_bias, pre, y)) {
    return;
  }
  products.multiply(stream(), {x, false}, {weight, true}, narrow_bias, Activation::none, false, pre);
  gelu_forward(pre, y);
}

void CudaDevice::linear_backward_data(const Tensor& dy, const Tensor& weight, const Tensor& dx) {
  const std::int64_t n = dy.shape()[0];
  const std::int64_t out = dy.shape()[1];
  const std::int64_t in = weight.shape()[1];
  require_shape(weight, {out, in}, "linear backward: weight");
  require_shape(dx, {n, in}, "linear backward: dx");
  require_type(weight, dy.dtype(), "linear backward: weight");
  require_type(dx, dy.dtype(), "linear backward: dx");
  libraries().products.multiply(stream(), {dy, false}, {weight, false}, {}, Activation::none, false, dx);
}

void CudaDevice::linear_backward_weights(const Tensor& x, const Tensor& dy, bool accumulate,
                                         const Tensor& dweight, const Tensor& dbias) {
  const std::int64_t n = x.shape()[0];
  const std::int64_t in = x.shape()[1];
  const std::int64_t out = dy.shape()[1];
  require_shape(dy, {n, out}, "linear backward: dy");
  require_shape(dweight, {out, in}, "linear backward: dweight");
  require_shape(dbias, {out}, "linear backward: dbias");
  require_type(dy, x.dtype(), "linear backward: dy");
  require_type(dweight, DType::f32, "linear backward: dweight");
  libraries().products.multiply(stream(), {dy, true}, {x, false}, {}, Activation::none, accumulate, dweight);
  cuda::sum_rows(stream(), dy, empty(cuda::row_sums_shape(dy)), accumulate, dbias);
}

}  // namespace lockstep::device
