#include "device/device.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/error.h"

namespace lockstep::device {

namespace {

void require_count(std::size_t host, const Shape& shape) {
  if (host != static_cast<std::size_t>(shape.count())) {
    throw Error(ExitCode::internal,
                fmt::format("a host copy of {} elements meets a tensor {}", host, shape.text()));
  }
}

}  // namespace

bool is_relu(Activation activation, std::string_view operation) {
  if (activation == Activation::gelu) {
    throw Error(ExitCode::internal,
                fmt::format("{}: GELU is an activation of linear layers alone", operation));
  }
  return activation == Activation::relu;
}

std::int64_t window_output(std::int64_t input, std::int64_t kernel, const Conv2dOptions& options) {
  const std::int64_t room = input + 2 * options.padding - kernel;
  return room < 0 ? 0 : room / options.stride + 1;
}

std::int64_t window_output(std::int64_t input, const PoolWindow& window) {
  return window_output(input, window.size, {window.stride, window.padding});
}

Tensor Device::empty(const Shape& shape, DType dtype) {
  const auto bytes = static_cast<std::size_t>(shape.count()) * size_of(dtype);
  return {pool_->take(bytes), 0, shape, dtype};
}

Tensor Device::zeros(const Shape& shape) {
  Tensor tensor = empty(shape);
  fill(0.f, tensor);
  return tensor;
}

std::unique_ptr<Stopwatch> Device::make_stopwatch() {
  return std::make_unique<HostStopwatch>();
}

void Device::upload(std::span<const float> host, const Tensor& tensor) {
  require_count(host.size(), tensor.shape());
  upload_bytes(host.data(), host.size_bytes(), tensor.f32());
}

void Device::upload(std::span<const std::int64_t> host, const Tensor& tensor) {
  require_count(host.size(), tensor.shape());
  upload_bytes(host.data(), host.size_bytes(), tensor.i64());
}

void Device::upload(std::span<const std::uint8_t> host, const Tensor& tensor) {
  require_count(host.size(), tensor.shape());
  upload_bytes(host.data(), host.size_bytes(), tensor.u8());
}

void Device::download(const Tensor& tensor, std::span<float> host) {
  require_count(host.size(), tensor.shape());
  download_bytes(tensor.f32(), host.size_bytes(), host.data());
}

void Device::download(const Tensor& tensor, std::span<double> host) {
  require_count(host.size(), tensor.shape());
  download_bytes(tensor.f64(), host.size_bytes(), host.data());
}

void Device::download(const Tensor& tensor, std::span<std::uint8_t> host) {
  require_count(host.size(), tensor.shape());
  download_bytes(tensor.u8(), host.size_bytes(), host.data());
}

Tensor Device::send(std::span<const float> host, const Shape& shape) {
  require_count(host.size(), shape);
  return send_bytes(host.data(), shape, DType::f32);
}

Tensor Device::send(std::span<const std::int64_t> host, const Shape& shape) {
  require_count(host.size(), shape);
  return send_bytes(host.data(), shape, DType::i64);
}

Tensor Device::send_bytes(const void* host, const Shape& shape, DType dtype) {
  Tensor tensor = empty(shape, dtype);
  upload_bytes(host, tensor.bytes(), tensor.data());
  return tensor;
}

LossSum Device::read_loss(const Tensor& sums) {
  std::array<double, 3> host{};
  download(sums, std::span<double>(host));
  if (host[2] > 0) {
    throw Error(ExitCode::bad_data,
                fmt::format("{} labels of a micro-batch are no class of the model", std::llround(host[2])));
  }
  return {host[0], std::llround(host[1]), 0};
}

}  // namespace lockstep::device
