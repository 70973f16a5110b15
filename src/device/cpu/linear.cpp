// Matrix products by oneDNN's sgemm on the parameters as they lie. Its inner-product primitives win 40 us of
// 170 on blocked weights (batch 64, 1568 -> 128, one core) and lose 43 us to the reorder into that form, and
// they cannot add to a gradient that is already there. bf16: by its matmul primitives (matmul_cache.h).
#include <fmt/format.h>

#include <oneapi/dnnl/dnnl.h>

#include "core/error.h"
#include "core/vector.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/matmul_cache.h"
#include "device/cpu/values.h"

namespace lockstep::device {

namespace {

struct Matrix {
  const float* data;
  char transposed;      // 'N' or 'T'
  std::int64_t stride;  // elements from one stored row to the next
};

// c [m, n] = a [m, k] b [k, n] + beta c, row-major.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b, float beta,
              float* c) {
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed, b.transposed, m, n, k, 1.f, a.data, a.stride, b.data, b.stride, beta, c, n);
  if (status != dnnl_success) {
    throw Error(ExitCode::internal, fmt::format("oneDNN: sgemm {} x {} x {} failed with status {}", m, n, k,
                                                static_cast<int>(status)));
  }
}

// y += bias in every row, then the activation: y is small and still in the cache.
LOCKSTEP_VECTOR_CLONES
void add_bias(const float* bias, bool relu, std::int64_t rows, std::int64_t columns, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, y += columns) {
    if (relu) {
#pragma omp simd
      for (std::int64_t i = 0; i < columns; ++i) {
        const float value = y[i] + bias[i];
        y[i] = value < 0.f ? 0.f : value;
      }
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < columns; ++i) y[i] += bias[i];
    }
  }
}

LOCKSTEP_VECTOR_CLONES
void sum_rows(const float* dy, std::int64_t rows, std::int64_t columns, bool accumulate, float* dbias) {
  if (!accumulate) {
    for (std::int64_t i = 0; i < columns; ++i) dbias[i] = 0.f;
  }
  for (std::int64_t row = 0; row < rows; ++row, dy += columns) {
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) dbias[i] += dy[i];
  }
}

}  // namespace

bool CpuDevice::multiply_bf16(const cpu::MatmulShape& shape, const Tensor& a, const Tensor& b,
                              const Tensor& bias, const Tensor& c) {
  if (a.dtype() != DType::bf16 || b.dtype() != DType::bf16 || c.dtype() != shape.c) return false;
  cpu::Matmul* product = products_->find(shape);
  if (product == nullptr) return false;
  product->a.set_data_handle(a.data());
  product->b.set_data_handle(b.data());
  product->c.set_data_handle(c.data());
  if (shape.bias) product->bias.set_data_handle(bias.f32());
  product->primitive.execute(products_->stream(), product->arguments);
  return true;
}

void CpuDevice::linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               Activation activation, const Tensor& pre, const Tensor& y) {
  const std::int64_t n = x.shape()[0];
  const std::int64_t in = x.shape()[1];
  const std::int64_t out = weight.shape()[0];
  require_shape(weight, {out, in}, "linear: weight");
  require_shape(bias, {out}, "linear: bias");
  require_shape(y, {n, out}, "linear: y");
  if (activation == Activation::gelu) {
    require_shape(pre, y.shape(), "linear: pre");
    // In the pass that adds the bias it is no faster, and this one takes all threads.
    linear_forward(x, weight, bias, Activation::none, {}, pre);
    gelu_forward(pre, y);
    return;
  }
  const bool relu = activation == Activation::relu;
  if (x.dtype() == DType::f32) {
    multiply(n, out, in, {x.f32(), 'N', in}, {weight.f32(), 'T', in}, 0.f, y.f32());
    add_bias(bias.f32(), relu, n, out, y.f32());
    return;
  }
  if (multiply_bf16({n, out, in, false, true, true, relu, false, DType::bf16}, x, weight, bias, y)) return;
  const Tensor wide = empty(y.shape());
  linear_forward(widened(x), widened(weight), bias, activation, {}, wide);
  cast(wide, y);
}

void CpuDevice::linear_backward_data(const Tensor& dy, const Tensor& weight, const Tensor& dx) {
  const std::int64_t n = dy.shape()[0];
  const std::int64_t out = dy.shape()[1];
  const std::int64_t in = weight.shape()[1];
  require_shape(weight, {out, in}, "linear backward: weight");
  require_shape(dx, {n, in}, "linear backward: dx");
  if (dy.dtype() == DType::f32) {
    multiply(n, in, out, {dy.f32(), 'N', out}, {weight.f32(), 'N', in}, 0.f, dx.f32());
    return;
  }
  if (multiply_bf16({n, in, out, false, false, false, false, false, DType::bf16}, dy, weight, {}, dx)) return;
  const Tensor wide = empty(dx.shape());
  linear_backward_data(widened(dy), widened(weight), wide);
  cast(wide, dx);
}

void CpuDevice::linear_backward_weights(const Tensor& x, const Tensor& dy, bool accumulate,
                                        const Tensor& dweight, const Tensor& dbias) {
  const std::int64_t n = x.shape()[0];
  const std::int64_t in = x.shape()[1];
  const std::int64_t out = dy.shape()[1];
  require_shape(dy, {n, out}, "linear backward: dy");
  require_shape(dweight, {out, in}, "linear backward: dweight");
  require_shape(dbias, {out}, "linear backward: dbias");
  if (multiply_bf16({out, in, n, true, false, false, false, accumulate, DType::f32}, dy, x, {}, dweight)) {
    sum_rows(cpu::Values(dy).read(0, n * out).data(), n, out, accumulate, dbias.f32());
    return;
  }
  if (x.dtype() != DType::f32) {
    linear_backward_weights(widened(x), widened(dy), accumulate, dweight, dbias);
    return;
  }
  multiply(out, in, n, {dy.f32(), 'T', out}, {x.f32(), 'N', in}, accumulate ? 1.f : 0.f, dweight.f32());
  sum_rows(dy.f32(), n, out, accumulate, dbias.f32());
}

}  // namespace lockstep::device
