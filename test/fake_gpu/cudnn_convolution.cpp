// The stand-in for cuDNN: convolutions as matrix products on unfolded images, whatever the algorithm.
#include <cstring>

#include "cudnn_algorithms.h"
#include "cudnn_objects.h"

namespace fake_gpu::dnn {

namespace {

[[noreturn]] void refuse(const char* call, const std::string& why) {
  die(std::string(call) + ": " + why);
}

struct Geometry {
  Images x, y;
  Filter w;
  Convolution convolution;
  Algorithm algorithm;

  std::size_t pixels_out() const { return y.height * y.width; }
  std::size_t window() const { return w.height * w.width * w.in; }
};

std::size_t pixels_after(std::size_t pixels, std::size_t padding, std::size_t kernel, std::size_t stride) {
  return pixels + 2 * padding < kernel ? 0 : (pixels + 2 * padding - kernel) / stride + 1;
}

Geometry checked(const char* call, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                 cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
                 const Algorithm& algorithm) {
  const Geometry geometry{image_descriptors().at(x, call), image_descriptors().at(y, call),
                          filter_descriptors().at(w, call), convolution_descriptors().at(convolution, call),
                          algorithm};
  const Convolution& options = geometry.convolution;
  if (geometry.x.n == 0 || geometry.y.n == 0 || geometry.w.out == 0 || options.stride_h == 0) {
    refuse(call, "a descriptor was made, but never set");
  }
  if (geometry.x.n != geometry.y.n || geometry.x.channels != geometry.w.in ||
      geometry.y.channels != geometry.w.out ||
      geometry.y.height !=
          pixels_after(geometry.x.height, options.padding_h, geometry.w.height, options.stride_h) ||
      geometry.y.width !=
          pixels_after(geometry.x.width, options.padding_w, geometry.w.width, options.stride_w)) {
    refuse(call, "the sizes of images and filter do not fit");
  }
  // FLOAT_CONFIG, PSEUDO_HALF_CONFIG and PSEUDO_BFLOAT16_CONFIG: one type for all three, sums in f32.
  if (geometry.x.type != geometry.w.type || geometry.x.type != geometry.y.type) {
    refuse(call, std::string("x ") + name_of(geometry.x.type) + ", w " + name_of(geometry.w.type) + ", y " +
                     name_of(geometry.y.type) + " is no configuration of cuDNN");
  }
  const bool narrow = geometry.x.type != Number::f32;
  if (narrow ? options.math != CUDNN_TENSOR_OP_MATH : options.math != CUDNN_FMA_MATH) {
    refuse(call, narrow ? "16-bit types without CUDNN_TENSOR_OP_MATH are not on the list"
                        : "f32 without CUDNN_FMA_MATH would be rounded to TF32");
  }
  return geometry;
}

// More than nothing, and not the same for all shapes and algorithms, so that a program has to ask.
std::size_t workspace_bytes(const Geometry& geometry) {
  return geometry.w.count() * bytes_of(geometry.w.type) + 512 * (1 + geometry.algorithm.place);
}

// What the algorithm or a fault refuses.
std::optional<cudnnStatus_t> refusal(const char* call, const Geometry& geometry) {
  const Convolution& options = geometry.convolution;
  const std::string by_name = std::string(call) + "(" + geometry.algorithm.name + ")";
  if (!takes(geometry.algorithm.method,
             {geometry.x.height, geometry.x.width, geometry.w.height, geometry.w.width, options.stride_h,
              options.stride_w, options.padding_h, options.padding_w})) {
    return failed(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, by_name + " is not for this filter");
  }
  if (const auto status = fault(by_name)) return status;
  return fault(call);
}

// cols [pixels of y, window] of one image, or, folding, image += cols.
template <typename Copy>
void for_each_place(const Geometry& geometry, Copy copy) {
  const Convolution& options = geometry.convolution;
  std::size_t column = 0;
  for (std::size_t y = 0; y < geometry.y.height; ++y) {
    for (std::size_t x = 0; x < geometry.y.width; ++x) {
      for (std::size_t i = 0; i < geometry.w.height; ++i) {
        for (std::size_t j = 0; j < geometry.w.width; ++j, column += geometry.w.in) {
          const std::size_t row_in = y * options.stride_h + i;
          const std::size_t column_in = x * options.stride_w + j;
          if (row_in < options.padding_h || row_in - options.padding_h >= geometry.x.height) continue;
          if (column_in < options.padding_w || column_in - options.padding_w >= geometry.x.width) continue;
          copy(((row_in - options.padding_h) * geometry.x.width + column_in - options.padding_w) *
                   geometry.x.channels,
               column);
        }
      }
    }
  }
}

std::vector<float> unfolded(const Geometry& geometry, const float* image) {
  std::vector<float> columns(geometry.pixels_out() * geometry.window(), 0.f);
  for_each_place(geometry, [&](std::size_t pixel, std::size_t column) {
    std::memcpy(columns.data() + column, image + pixel, geometry.w.in * sizeof(float));
  });
  return columns;
}

void store_all(const std::vector<float>& values, void* array, Number type) {
  for (std::size_t i = 0; i < values.size(); ++i) store(values[i], array, type, i);
}

void forward(const Geometry& geometry, const void* x, const void* w, void* y) {
  const std::vector<float> images = load_all(x, geometry.x.type, geometry.x.count());
  const std::vector<float> filter =
      transposed(load_all(w, geometry.w.type, geometry.w.count()), geometry.w.out, geometry.window());
  std::vector<float> sums(geometry.y.count(), 0.f);
  for (std::size_t n = 0; n < geometry.x.n; ++n) {
    const std::vector<float> columns = unfolded(geometry, images.data() + n * images.size() / geometry.x.n);
    multiply(geometry.pixels_out(), geometry.w.out, geometry.window(), columns.data(), filter.data(),
             sums.data() + n * geometry.pixels_out() * geometry.w.out);
  }
  store_all(sums, y, geometry.y.type);
}

void backward_data(const Geometry& geometry, const void* w, const void* dy, void* dx) {
  const std::vector<float> gradients = load_all(dy, geometry.y.type, geometry.y.count());
  const std::vector<float> filter = load_all(w, geometry.w.type, geometry.w.count());
  std::vector<float> sums(geometry.x.count(), 0.f);
  for (std::size_t n = 0; n < geometry.x.n; ++n) {
    std::vector<float> columns(geometry.pixels_out() * geometry.window(), 0.f);
    multiply(geometry.pixels_out(), geometry.window(), geometry.w.out,
             gradients.data() + n * geometry.pixels_out() * geometry.w.out, filter.data(), columns.data());
    float* image = sums.data() + n * sums.size() / geometry.x.n;
    for_each_place(geometry, [&](std::size_t pixel, std::size_t column) {
      for (std::size_t c = 0; c < geometry.w.in; ++c) image[pixel + c] += columns[column + c];
    });
  }
  store_all(sums, dx, geometry.x.type);
}

void backward_filter(const Geometry& geometry, const void* x, const void* dy, void* dw) {
  const std::vector<float> images = load_all(x, geometry.x.type, geometry.x.count());
  const std::vector<float> gradients = load_all(dy, geometry.y.type, geometry.y.count());
  const std::size_t image_size = images.size() / geometry.x.n;
  const std::size_t gradient_size = gradients.size() / geometry.x.n;
  std::vector<float> sums(geometry.w.count(), 0.f);
  for (std::size_t n = 0; n < geometry.x.n; ++n) {
    const float* gradient = gradients.data() + n * gradient_size;
    const std::vector<float> rows =
        transposed({gradient, gradient + gradient_size}, geometry.pixels_out(), geometry.w.out);
    const std::vector<float> columns = unfolded(geometry, images.data() + n * image_size);
    multiply(geometry.w.out, geometry.window(), geometry.pixels_out(), rows.data(), columns.data(),
             sums.data());
  }
  store_all(sums, dw, geometry.w.type);
}

struct Operand {
  const void* address;
  std::size_t bytes;
};

template <typename Object>
Operand operand(const void* address, const Object& object) {
  return {address, object.count() * bytes_of(object.type)};
}

struct Scales {
  const void* alpha;
  const void* beta;
};

cudnnStatus_t run(const char* call, cudnnHandle_t library, const Geometry& geometry, const Scales& scales,
                  const Operand& first, const Operand& second, const Operand& result,
                  const Operand& workspace, std::function<void()> compute) {
  const cudaStream_t stream = libraries().at(library, call).stream;
  float alpha = 0.f;
  float beta = 1.f;
  if (scales.alpha != nullptr) std::memcpy(&alpha, scales.alpha, sizeof alpha);
  if (scales.beta != nullptr) std::memcpy(&beta, scales.beta, sizeof beta);
  if (alpha != 1.f || beta != 0.f) refuse(call, "alpha other than 1 or beta other than 0 is not on the list");
  for (const Operand& each : {first, second, result, workspace}) {
    if (each.address == nullptr) refuse(call, "an address is null");
    if (reinterpret_cast<std::uintptr_t>(each.address) % 16 != 0) {
      refuse(call, "an address is not 16-byte aligned");
    }
  }
  if (workspace.bytes < workspace_bytes(geometry)) {
    refuse(call, "a workspace of " + std::to_string(workspace.bytes) + " bytes, where " +
                     std::to_string(workspace_bytes(geometry)) + " are needed");
  }
  if (const auto status = refusal(call, geometry)) return *status;
  void* scratch = const_cast<void*>(workspace.address);
  const cudaError_t error = enqueue(stream, call,
                                    {{first.address, first.bytes, Access::read},
                                     {second.address, second.bytes, Access::read},
                                     {result.address, result.bytes, Access::write},
                                     {scratch, workspace.bytes, Access::write}},
                                    [scratch, bytes = workspace.bytes, compute = std::move(compute)] {
                                      std::memset(scratch, 0xa5, bytes);
                                      compute();
                                      return true;
                                    });
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t size_of_workspace(const char* call, cudnnHandle_t library, const Geometry& geometry,
                                std::size_t* bytes) {
  libraries().at(library, call);
  if (const auto status = refusal(call, geometry)) return *status;
  *bytes = workspace_bytes(geometry);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

}  // namespace fake_gpu::dnn

using namespace fake_gpu::dnn;

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t library, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t w,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm,
                                                      std::size_t* bytes) {
  constexpr const char* call = "cudnnGetConvolutionForwardWorkspaceSize";
  return size_of_workspace(call, library, checked(call, x, w, convolution, y, listed(call, algorithm)),
                           bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t library, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes) {
  constexpr const char* call = "cudnnGetConvolutionBackwardDataWorkspaceSize";
  return size_of_workspace(call, library, checked(call, dx, w, convolution, dy, listed(call, algorithm)),
                           bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t library, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  constexpr const char* call = "cudnnGetConvolutionBackwardFilterWorkspaceSize";
  return size_of_workspace(call, library, checked(call, x, dw, convolution, dy, listed(call, algorithm)),
                           bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t library, const void* alpha,
                                      const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                      const cudnnFilterDescriptor_t w_descriptor, const void* w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t bytes,
                                      const void* beta, const cudnnTensorDescriptor_t y_descriptor, void* y) {
  constexpr const char* call = "cudnnConvolutionForward";
  const Geometry geometry =
      checked(call, x_descriptor, w_descriptor, convolution, y_descriptor, listed(call, algorithm));
  return run(call, library, geometry, {alpha, beta}, operand(x, geometry.x), operand(w, geometry.w),
             operand(y, geometry.y), {workspace, bytes}, [=] { forward(geometry, x, w, y); });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t library, const void* alpha,
                                           const cudnnFilterDescriptor_t w_descriptor, const void* w,
                                           const cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           std::size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_descriptor, void* dx) {
  constexpr const char* call = "cudnnConvolutionBackwardData";
  const Geometry geometry =
      checked(call, dx_descriptor, w_descriptor, convolution, dy_descriptor, listed(call, algorithm));
  return run(call, library, geometry, {alpha, beta}, operand(w, geometry.w), operand(dy, geometry.y),
             operand(dx, geometry.x), {workspace, bytes}, [=] { backward_data(geometry, w, dy, dx); });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t library, const void* alpha,
                                             const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                             const cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             std::size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw_descriptor, void* dw) {
  constexpr const char* call = "cudnnConvolutionBackwardFilter";
  const Geometry geometry =
      checked(call, x_descriptor, dw_descriptor, convolution, dy_descriptor, listed(call, algorithm));
  return run(call, library, geometry, {alpha, beta}, operand(x, geometry.x), operand(dy, geometry.y),
             operand(dw, geometry.w), {workspace, bytes}, [=] { backward_filter(geometry, x, dy, dw); });
}
