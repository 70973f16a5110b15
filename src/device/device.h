// What a model needs from the machine that it runs on: memory and the numeric operations, one virtual each.
//
// Layout. Images lie in memory as [n, h, w, c] (NHWC) from the first layer to the last; parameters have
// PyTorch's shapes ([out, in], [out, in, kh, kw]), so that a checkpoint reads like anybody else's and a
// device that prefers another order of weights makes its own copy. Measured on the CPU (oneDNN 2.6, AVX-512,
// one core, batch 64): a 3x3 convolution 16 -> 32 on 14x14 takes 0.67/0.66/0.70 ms (forward, data, weights)
// in NHWC and 0.64/0.60/0.62 ms in oneDNN's own blocked order, which would pad channels to 16, show through
// in every other operation and in the files. Reordering the weights costs 1 us, so nothing is cached between
// micro-batches.
//
// Order. Operations happen in the order in which they were called, as if each had happened when its call
// returns; a device may still be at work then. Only download() and synchronise() wait for it. One thread at a
// time calls.
//
// Types. Values are f32, or bf16 or f16 in mixed precision: what an operation calls x, y, dx, dy, residual,
// logits, and the weight of a linear layer or a convolution have one type. All other floating-point tensors
// (biases, gradients of parameters, moments, scale and shift, targets, state of optimizers) are f32, sums in
// f64 say so. Products and sums are made in f32 at least and rounded once. Where x is of 16 bits, the bias of
// a linear layer may be rounded to its type first, and so may a convolution before its bias is added, and the
// gradient of its weight before that is added or kept as f32: NVIDIA's libraries want and give them so. There
// what a linear layer's GELU is applied to may be rounded first.
//
// Conventions. Outputs come last. A Tensor is a handle, so `const Tensor&` says nothing about its contents.
// Outputs are written in full unless `accumulate` asks to add. Input and output may be the same tensor only
// where a comment says so. Wrong shapes or types are Error(internal): the layers check what users can get
// wrong. Results are bitwise reproducible for the same shapes, device type, library version and number of
// threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/trace.h"
#include "device/pool.h"
#include "device/stopwatch.h"
#include "device/tensor.h"

namespace lockstep::device {

// Applied by the operation that makes a value, in the same pass where that is cheaper. gelu: of linear layers
// alone, by its approximation with tanh (device/gelu.h).
enum class Activation { none, relu, gelu };

// For operations that know no more than ReLU: is it that? Error(internal) for gelu.
bool is_relu(Activation activation, std::string_view operation);

struct Conv2dOptions {
  std::int64_t stride = 1;   // pixels, both directions
  std::int64_t padding = 0;  // zeros on each of the four sides
};

// A pooling window of size x size pixels. The padding belongs to no window's result.
struct PoolWindow {
  std::int64_t size = 1;
  std::int64_t stride = 1;   // pixels, both directions
  std::int64_t padding = 0;  // pixels on each of the four sides, at most size / 2
};

// Height or width after a convolution with a kernel of `kernel` pixels, or after pooling; less than 1 if
// nothing fits.
std::int64_t window_output(std::int64_t input, std::int64_t kernel, const Conv2dOptions& options);
std::int64_t window_output(std::int64_t input, const PoolWindow& window);

// Where the random numbers of one dropout layer come from: element j of a sample depends on these, the
// sample's id and j alone (contract C1).
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;    // optimizer step, below 2^36
  std::int64_t layer = 0;   // number of the dropout layer in forward order, below 4096
  double probability = 0.;  // of dropping, in [0, 1); rounded to a multiple of 2^-16
};

// What a batch normalisation divides by.
struct ChannelMoments {
  Tensor mean;      // [c]
  Tensor variance;  // [c], biased
  float epsilon = 1e-5f;
};

// What a loss comes to over the samples of a micro-batch. On the device: f64 [3], in this order.
struct LossSum {
  double loss = 0.;          // summed over the samples, not averaged
  std::int64_t correct = 0;  // samples whose largest logit is at the label; 0 where there are no labels
  std::int64_t invalid = 0;  // samples whose label is outside 0..classes-1: they count nowhere else, and
                             // their gradient is 0
};

struct SgdArguments {
  float learning_rate = 0.f;
  float gradient_scale = 1.f;  // clip coefficient / number of samples
  float momentum = 0.f;
  float weight_decay = 0.f;
};

// What one update of AdamW multiplies with, the same for every element: the optimizer makes it in f64 from
// rate, betas and number of updates.
struct AdamwArguments {
  float gradient_scale = 1.f;  // clip coefficient / number of samples
  float value_scale = 1.f;     // 1 - learning rate * weight decay
  float exp_avg_weight = 0.f;  // 1 - beta1
  float beta2 = 0.f;
  float exp_avg_sq_weight = 0.f;  // 1 - beta2
  float step_size = 0.f;          // learning rate / (1 - beta1^update)
  float root_correction = 1.f;    // sqrt(1 - beta2^update)
  float eps = 0.f;
};

class Device {
 public:
  explicit Device(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string_view kind() const = 0;  // "cpu", "cuda"
  // What bitwise equality depends on, in one line: type, instruction set, library version, threads.
  virtual std::string description() const = 0;

  // Beside it for networks computed in this type: what makes the products; empty where there is nothing to
  // add.
  virtual std::string arithmetic(DType /*type*/) const { return {}; }

  // Comes back when everything that was called before is done. Errors of the device appear here, or in any
  // later call.
  virtual void synchronise() {}
  // Called again and again, by the thread that waits, while synchronise() or download() waits for the device;
  // ends the wait by throwing. For whoever can tell why the device does not come to an end: a communicator.
  virtual void set_monitor(const std::function<void()>& /*monitor*/) {}
  // Since when (monotonic_seconds()) a caller has waited for the device; 0 while nobody does. For a watcher
  // in another thread; null where the device is done whenever a call is.
  virtual std::shared_ptr<const std::atomic<double>> waited_for_since() const { return {}; }
  // Tells profilers of the trace's spans, and adds rows with the device's own times where the trace has a
  // file. The trace must outlive the device, and its other threads begin spans only after this.
  virtual void show_in(Trace& /*trace*/) {}
  // Of a GPU: its address on the PCI bus, as "0000:1a:00.0"; else empty.
  virtual std::string pci_address() const { return {}; }

  // Undefined contents. 256-byte aligned. Throws Error(bad_config) where there is no memory; what it is used
  // for (MemoryUse) is in the text.
  Tensor empty(const Shape& shape, DType dtype = DType::f32);
  Tensor zeros(const Shape& shape);
  const Pool& pool() const { return *pool_; }
  Pool& pool() { return *pool_; }

  // ---- Host copies: the number of elements must be the same
  // -------------------------------------------------
  void upload(std::span<const float> host, const Tensor& tensor);
  void upload(std::span<const std::int64_t> host, const Tensor& tensor);
  void upload(std::span<const std::uint8_t> host, const Tensor& tensor);
  void download(const Tensor& tensor, std::span<float> host);
  void download(const Tensor& tensor, std::span<double> host);
  void download(const Tensor& tensor, std::span<std::uint8_t> host);
  // The same for what is needed later: copies beside the operations that were called before, where the device
  // can. The host's memory is free when this returns; the tensor may be used after receive(), which what is
  // called from then on comes after.
  Tensor send(std::span<const float> host, const Shape& shape);
  Tensor send(std::span<const std::int64_t> host, const Shape& shape);
  virtual void receive(const Tensor& /*sent*/) {}
  virtual bool copies_beside() const { return false; }
  // Of what the device waits for; it must not outlive the device.
  virtual std::unique_ptr<Stopwatch> make_stopwatch();
  // Waits. Error(bad_data) where a label was invalid.
  LossSum read_loss(const Tensor& sums);

  // ---- Element by element, any shape
  // ------------------------------------------------------------------------
  virtual void fill(float value, const Tensor& x) = 0;
  virtual void copy(const Tensor& x, const Tensor& y) = 0;  // of one type, any
  virtual void cast(const Tensor& x, const Tensor& y) = 0;  // between f32, bf16 and f16, to nearest even
  virtual void scale(float a, const Tensor& x) = 0;         // x *= a
  virtual void axpy(float a, const Tensor& x, const Tensor& y) = 0;       // y += a x
  virtual void lerp(float weight, const Tensor& x, const Tensor& y) = 0;  // y += weight (x - y)
  virtual void relu_forward(const Tensor& x, const Tensor& y) = 0;        // y may be x
  // dx = dy where y > 0, else 0; y is relu's output; dx may be dy.
  virtual void relu_backward(const Tensor& dy, const Tensor& y, const Tensor& dx) = 0;
  virtual void gelu_forward(const Tensor& x, const Tensor& y) = 0;  // y may be x
  // dx = dy gelu'(x); x is gelu's input; dx may be dy.
  virtual void gelu_backward(const Tensor& dy, const Tensor& x, const Tensor& dx) = 0;

  // ---- Reductions
  // Sum of x[i]^2 into an f64 tensor of one element, blocks added in a fixed order: the same bits for any
  // number of threads. x is f32.
  virtual void sum_of_squares(const Tensor& x, const Tensor& sum) = 0;

  // ---- Linear: x [n, in], weight [out, in], bias [out], y [n, out]
  // ------------------------------------------
  // pre [n, out]: with gelu, what it is applied to, for gelu_backward; else unused, and may be empty.
  virtual void linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              Activation activation, const Tensor& pre, const Tensor& y) = 0;
  virtual void linear_backward_data(const Tensor& dy, const Tensor& weight, const Tensor& dx) = 0;
  virtual void linear_backward_weights(const Tensor& x, const Tensor& dy, bool accumulate,
                                       const Tensor& dweight, const Tensor& dbias) = 0;

  // ---- Convolution: x [n, h, w, in], weight [out, in, kh, kw], bias [out], y [n, oh, ow, out]
  // An empty bias or dbias: a convolution without one.
  virtual void conv2d_forward(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Conv2dOptions& options, Activation activation, const Tensor& y) = 0;
  virtual void conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Conv2dOptions& options,
                                    const Tensor& dx) = 0;
  virtual void conv2d_backward_weights(const Tensor& x, const Tensor& dy, const Conv2dOptions& options,
                                       bool accumulate, const Tensor& dweight, const Tensor& dbias) = 0;

  // ---- Max-pooling: x [n, h, w, c], y and index (u8) [n, oh, ow, c]
  // size 1..15; rows and columns that no window covers are left out. With relu, y = max(0, largest): the ReLU
  // of a layer costs nothing here and its backward pass runs on the pooled image. `index` is the winner's
  // place in its window, or 255 for none.
  virtual void max_pool_forward(const Tensor& x, const PoolWindow& window, Activation activation,
                                const Tensor& y, const Tensor& index) = 0;
  virtual void max_pool_backward(const Tensor& dy, const Tensor& index, const PoolWindow& window,
                                 const Tensor& dx) = 0;

  // ---- Mean over an image: x [n, h, w, c], y [n, c]
  virtual void average_pool_forward(const Tensor& x, const Tensor& y) = 0;
  virtual void average_pool_backward(const Tensor& dy, const Tensor& dx) = 0;

  // ---- Batch normalisation: x, y, residual [..., c]; mean, variance, scale, shift [c]
  // Mean and biased variance of each channel, summed in f64 in a fixed order: the same bits for any number of
  // threads.
  virtual void channel_moments(const Tensor& x, const Tensor& mean, const Tensor& variance) = 0;
  // y = activation((x - mean) / sqrt(variance + epsilon) scale + shift + residual); an empty residual: none.
  virtual void batch_norm_forward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                  const Tensor& shift, const Tensor& residual, Activation activation,
                                  const Tensor& y) = 0;
  // Where the moments are those of x itself. With relu (y is the forward result, else unused) dy becomes the
  // gradient before it, which is also the residual's. dx may be dy.
  virtual void batch_norm_backward(const Tensor& x, const ChannelMoments& moments, const Tensor& scale,
                                   Activation activation, const Tensor& y, const Tensor& dy, bool accumulate,
                                   const Tensor& dx, const Tensor& dscale, const Tensor& dshift) = 0;

  // ---- Every stride-th pixel: x [n, h, w, c], y [n, ceil(h/stride), ceil(w/stride), c'], c' >= c
  // The new channels are zeros, half of them (rounded down) in front of x's.
  virtual void subsample_forward(const Tensor& x, std::int64_t stride, const Tensor& y) = 0;
  virtual void subsample_backward(const Tensor& dy, std::int64_t stride, const Tensor& dx) = 0;

  // ---- Order of images: [n, h, w, c] <-> [n, c, h, w]
  // -------------------------------------------------------
  virtual void nhwc_to_nchw(const Tensor& x, const Tensor& y) = 0;
  virtual void nchw_to_nhwc(const Tensor& x, const Tensor& y) = 0;

  // ---- Dropout: x, y and mask (u8, 1 where kept) [n, ...]; one sample id per n
  // -------------------------------- y = x / (1 - probability) where kept, else 0.
  virtual void dropout_forward(const Tensor& x, const DropoutKey& key,
                               std::span<const std::int64_t> sample_ids, const Tensor& y,
                               const Tensor& mask) = 0;
  // dx may be dy.
  virtual void dropout_backward(const Tensor& dy, const Tensor& mask, double probability,
                                const Tensor& dx) = 0;

  // ---- Losses
  // Of logits [n, classes] and labels (i64) [n] into sums (f64 [3], a LossSum). Fills dlogits [n, classes]
  // with `gradient_scale` times the gradient of the SUM of the losses unless it is an empty tensor. With
  // label smoothing s in [0, 1] the target is 1 - s at the label plus s / classes everywhere. Ties go to the
  // lowest class. The sums are the same bits for any number of threads.
  virtual void softmax_cross_entropy(const Tensor& logits, const Tensor& labels, double label_smoothing,
                                     float gradient_scale, const Tensor& dlogits, const Tensor& sums) = 0;
  // Of predictions and targets [n, width]: the sum over the samples of the mean over a sample's width of
  // (prediction - target)^2, in f64. Fills dpredictions [n, width] with gradient_scale times its gradient
  // unless that is empty.
  virtual void mean_squared_error(const Tensor& predictions, const Tensor& targets, float gradient_scale,
                                  const Tensor& dpredictions, const Tensor& sums) = 0;

  // ---- Optimizer
  // -------------------------------------------------------------------------------------------- g =
  // gradient_scale gradient + weight_decay value; velocity = momentum velocity + g; value -= learning_rate
  // velocity. All of one shape.
  virtual void sgd_step(const SgdArguments& arguments, const Tensor& gradient, const Tensor& value,
                        const Tensor& velocity) = 0;
  // g = gradient_scale gradient; exp_avg += exp_avg_weight (g - exp_avg); exp_avg_sq = beta2 exp_avg_sq +
  // exp_avg_sq_weight g^2; value = value_scale value - step_size exp_avg / (sqrt(exp_avg_sq) /
  // root_correction + eps). All of one shape.
  virtual void adamw_step(const AdamwArguments& arguments, const Tensor& gradient, const Tensor& value,
                          const Tensor& exp_avg, const Tensor& exp_avg_sq) = 0;

 protected:
  virtual void upload_bytes(const void* host, std::size_t bytes, void* address) = 0;
  virtual void download_bytes(const void* address, std::size_t bytes, void* host) = 0;
  virtual Tensor send_bytes(const void* host, const Shape& shape, DType dtype);

 private:
  std::shared_ptr<Pool> pool_;
};

}  // namespace lockstep::device
