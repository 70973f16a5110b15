// The stand-in for cuDNN: handles, descriptors, errors. What is not on the list of libraries.md dies by name.
#include <array>
#include <cstring>

#include "cudnn_objects.h"
#include "library_faults.h"

namespace fake_gpu::dnn {

Handles<cudnnHandle_t, Library>& libraries() {
  static Handles<cudnnHandle_t, Library> handles("cuDNN handle");
  return handles;
}

Handles<cudnnTensorDescriptor_t, Images>& image_descriptors() {
  static Handles<cudnnTensorDescriptor_t, Images> handles("tensor descriptor");
  return handles;
}

Handles<cudnnFilterDescriptor_t, Filter>& filter_descriptors() {
  static Handles<cudnnFilterDescriptor_t, Filter> handles("filter descriptor");
  return handles;
}

Handles<cudnnConvolutionDescriptor_t, Convolution>& convolution_descriptors() {
  static Handles<cudnnConvolutionDescriptor_t, Convolution> handles("convolution descriptor");
  return handles;
}

namespace {

using Status = fake_gpu::NamedStatus<cudnnStatus_t>;

constexpr std::array statuses{
    Status{CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"},
    Status{CUDNN_STATUS_NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
    Status{CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
    Status{CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
    Status{CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
    Status{CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"},
    Status{CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH"},
    Status{CUDNN_STATUS_INTERNAL_ERROR, "CUDNN_STATUS_INTERNAL_ERROR"},
    Status{CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"},
};

std::string& last_error() {
  thread_local std::string text;
  return text;
}

Number number_of(cudnnDataType_t type, const char* call) {
  if (type == CUDNN_DATA_FLOAT) return Number::f32;
  if (type == CUDNN_DATA_BFLOAT16) return Number::bf16;
  if (type == CUDNN_DATA_HALF) return Number::f16;
  die(std::string(call) + ": type " + std::to_string(type) + " is not on the list");
}

void require_nhwc(cudnnTensorFormat_t format, const char* call) {
  if (format != CUDNN_TENSOR_NHWC) {
    die(std::string(call) + ": format " + std::to_string(format) + " is not on the list, only NHWC is");
  }
}

std::size_t at_least(int value, int least, const char* call) {
  if (value < least) {
    die(std::string(call) + ": got " + std::to_string(value) + " where " + std::to_string(least) +
        " is the least");
  }
  return static_cast<std::size_t>(value);
}

}  // namespace

std::optional<cudnnStatus_t> fault(const std::string& call) {
  const std::optional<cudnnStatus_t> status =
      library_fault(call.c_str(), statuses, CUDNN_STATUS_EXECUTION_FAILED);
  if (status) failed(*status, "injected into " + call);
  return status;
}

cudnnStatus_t failed(cudnnStatus_t status, const std::string& why) {
  last_error() = why;
  return status;
}

}  // namespace fake_gpu::dnn

using namespace fake_gpu::dnn;

std::size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t value) {
  for (const Status& status : statuses) {
    if (value == status.value) return status.name;
  }
  return "an unknown status";
}

void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  if (message == nullptr || bytes == 0) return;
  std::strncpy(message, last_error().c_str(), bytes - 1);
  message[bytes - 1] = '\0';
  last_error().clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (const auto status = fault("cudnnCreate")) return *status;
  *handle = libraries().add({});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  libraries().remove(handle, "cudnnDestroy");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  libraries().at(handle, "cudnnSetStream").stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = image_descriptors().add({});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  image_descriptors().remove(descriptor, "cudnnDestroyTensorDescriptor");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  constexpr const char* call = "cudnnSetTensor4dDescriptor";
  require_nhwc(format, call);
  image_descriptors().at(descriptor, call) = {number_of(type, call), at_least(n, 1, call),
                                              at_least(c, 1, call), at_least(h, 1, call),
                                              at_least(w, 1, call)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  *descriptor = filter_descriptors().add({});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  filter_descriptors().remove(descriptor, "cudnnDestroyFilterDescriptor");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  constexpr const char* call = "cudnnSetFilter4dDescriptor";
  require_nhwc(format, call);
  filter_descriptors().at(descriptor, call) = {number_of(type, call), at_least(k, 1, call),
                                               at_least(c, 1, call), at_least(h, 1, call),
                                               at_least(w, 1, call)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  *descriptor = convolution_descriptors().add({});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  convolution_descriptors().remove(descriptor, "cudnnDestroyConvolutionDescriptor");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  constexpr const char* call = "cudnnSetConvolution2dDescriptor";
  if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT) {
    fake_gpu::die(std::string(call) +
                  ": dilation, flipped filters and other sums than f32 are not on the list");
  }
  Convolution& convolution = convolution_descriptors().at(descriptor, call);
  convolution = {at_least(pad_h, 0, call), at_least(pad_w, 0, call), at_least(u, 1, call),
                 at_least(v, 1, call), CUDNN_DEFAULT_MATH};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  constexpr const char* call = "cudnnSetConvolutionMathType";
  if (math != CUDNN_TENSOR_OP_MATH && math != CUDNN_FMA_MATH) {
    fake_gpu::die(std::string(call) + ": math type " + std::to_string(math) + " is not on the list");
  }
  convolution_descriptors().at(descriptor, call).math = math;
  return CUDNN_STATUS_SUCCESS;
}
