// NVIDIA GPUs: cuBLASLt for matrix products, cuDNN for convolutions, kernels of our own for the rest. One
// file per operation. All work goes to one stream, in the order of the calls; uploads go over a stream of
// their own, behind events.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "device/cuda/resources.h"
#include "device/device.h"

namespace lockstep::device {

namespace cuda {
struct Libraries;  // handles of cuBLASLt and cuDNN, plans and workspaces
class Downloads;
class Inbox;
class SpanWatch;
class Timeline;
class UploadRing;
}  // namespace cuda

class CudaDevice final : public Device {
 public:
  // `ordinal`: of the GPUs that the process may use. Takes `memory_share` of its free memory. Throws
  // Error(bad_config) where that cannot be had.
  explicit CudaDevice(int ordinal, double memory_share = 0.9);
  ~CudaDevice() override;

  std::string_view kind() const override { return "cuda"; }
  std::string description() const override;
  void synchronise() override;
  void set_monitor(const std::function<void()>& monitor) override { monitor_ = monitor; }
  std::shared_ptr<const std::atomic<double>> waited_for_since() const override { return waited_for_since_; }
  void show_in(Trace& trace) override;
  std::string pci_address() const override;

  void receive(const Tensor& sent) override;
  bool copies_beside() const override { return true; }
  std::unique_ptr<Stopwatch> make_stopwatch() override;

  int ordinal() const { return ordinal_; }
  // What all operations are queued on.
  cudaStream_t stream() const { return compute_->get(); }
  cuda::Timeline& timeline() { return *timeline_; }

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
  Tensor send_bytes(const void* host, const Shape& shape, DType dtype) override;

 private:
  // Waits for an event while the monitor looks.
  void wait_for(const cuda::Event& event);
  cuda::Libraries& libraries();

  int ordinal_;
  std::function<void()> monitor_;
  std::shared_ptr<std::atomic<double>> waited_for_since_ = std::make_shared<std::atomic<double>>(0);
  std::unique_ptr<cuda::Stream> compute_;
  std::unique_ptr<cuda::Event> done_;
  std::unique_ptr<cuda::Timeline> timeline_;
  std::unique_ptr<cuda::SpanWatch> spans_;
  Trace* trace_ = nullptr;
  std::unique_ptr<cuda::UploadRing> uploads_;
  std::unique_ptr<cuda::Downloads> downloads_;
  std::shared_ptr<cuda::Inbox> inbox_;
  std::shared_ptr<cuda::Libraries> libraries_;  // shared: to be destroyed where its type is not known
};

}  // namespace lockstep::device
