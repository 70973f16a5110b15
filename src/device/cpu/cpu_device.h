// The operations on the host's cores. Convolutions and matrix products are oneDNN's (its own choice of
// instruction set); the rest are fused loops of ours. One file per operation.
//
// bf16: products are oneDNN's where it has a kernel for the shape on this processor (avx512_bf16, AMX). All
// other products of 16-bit types are made in f32, from copies, and rounded once: right, and slower than f32
// itself.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "device/device.h"

namespace lockstep::device {

namespace cpu {
class ConvolutionCache;
class MatmulCache;
struct MatmulShape;
}  // namespace cpu

// One object, one calling thread: calls come from the thread that made the device (OpenMP keeps its number of
// threads per thread), and never two at a time.
class CpuDevice final : public Device {
 public:
  // threads >= 1, else Error(bad_config).
  explicit CpuDevice(int threads = 1);
  ~CpuDevice() override;

  std::string_view kind() const override { return "cpu"; }
  std::string description() const override;
  std::string arithmetic(DType type) const override;

  void fill(float value, const Tensor& x) override;
  void copy(const Tensor& x, const Tensor& y) override;
  void cast(const Tensor& x, const Tensor& y) override;
  void scale(float a, const Tensor& x) override;
  void axpy(float a, const Tensor& x, const Tensor& y) override;
  void lerp(float weight, const Tensor& x, const Tensor& y) override;
  void relu_forward(const Tensor& x, const Tensor& y) override;
  void relu_backward(const Tensor& dy, const Tensor& y, const Tensor& dx) override;
  void gelu_forward(const Tensor& x, const Tensor& y) override;
  void gelu_backward(const Tensor& dy, const Tensor& x, const Tensor& dx) override;
  void sum_of_squares(const Tensor& x, const Tensor& sum) override;
  void linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation,
                      const Tensor& pre, const Tensor& y) override;
  void linear_backward_data(const Tensor& dy, const Tensor& weight, const Tensor& dx) override;
  void linear_backward_weights(const Tensor& x, const Tensor& dy, bool accumulate, const Tensor& dweight,
                               const Tensor& dbias) override;
  void conv2d_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options,
                      Activation activation, const Tensor& y) override;
  void conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Conv2dOptions& options,
                            const Tensor& dx) override;
  void conv2d_backward_weights(const Tensor& x, const Tensor& dy, const Conv2dOptions& options,
                               bool accumulate, const Tensor& dweight, const Tensor& dbias) override;
  void max_pool_forward(const Tensor& x, const PoolWindow& window, Activation activation, const Tensor& y,
                        const Tensor& index) override;
  void max_pool_backward(const Tensor& dy, const Tensor& index, const PoolWindow& window,
                         const Tensor& dx) override;
  void average_pool_forward(const Tensor& x, const Tensor& y) override;
  void average_pool_backward(const Tensor& dy, const Tensor& dx) override;
  void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) override;
  void batch_norm_forward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                          const Tensor& shift, const Tensor& residual, Activation activation,
                          const Tensor& y) override;
  void batch_norm_backward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                           Activation activation, const Tensor& y, const Tensor& dy, bool accumulate,
                           const Tensor& dx, const Tensor& dscale, const Tensor& dshift) override;
  void subsample_forward(const Tensor& x, std::int64_t stride, const Tensor& y) override;
  void subsample_backward(const Tensor& dy, std::int64_t stride, const Tensor& dx) override;
  void nhwc_to_nchw(const Tensor& x, const Tensor& y) override;
  void nchw_to_nhwc(const Tensor& x, const Tensor& y) override;
  void dropout_forward(const Tensor& x, const DropoutKey& key, std::span<const std::int64_t> sample_ids,
                       const Tensor& y, const Tensor& mask) override;
  void dropout_backward(const Tensor& dy, const Tensor& mask, double probability, const Tensor& dx) override;
  void softmax_cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing,
                             float gradient_scale, const Tensor& dlogits, const Tensor& sums) override;
  void mean_squared_error(const Tensor& predictions, const Tensor& targets, float gradient_scale,
                          const Tensor& dpredictions, const Tensor& sums) override;
  void sgd_step(const SgdArguments& arguments, const Tensor& gradient, const Tensor& value,
                const Tensor& velocity) override;
  void adamw_step(const AdamwArguments& arguments, const Tensor& gradient, const Tensor& value,
                  const Tensor& exp_avg, const Tensor& exp_avg_sq) override;

 protected:
  void upload_bytes(const void* host, std::size_t bytes, void* address) override;
  void download_bytes(const void* address, std::size_t bytes, void* host) override;

 private:
  // Another tensor of the same values in f32.
  Tensor widened(const Tensor& x);
  // c = a b (+ c) (+ bias); false, and nothing done, where the products of these types are not oneDNN's.
  bool multiply_bf16(const cpu::MatmulShape& shape, const Tensor& a, const Tensor& b, const Tensor& bias,
                     const Tensor& c);

  int threads_;
  // Keep oneDNN's headers out of this one.
  std::unique_ptr<cpu::ConvolutionCache> convolutions_;
  std::unique_ptr<cpu::MatmulCache> products_;
};

}  // namespace lockstep::device
