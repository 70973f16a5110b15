#include "device/cuda/cuda_device.h"

#include <cublasLt.h>
#include <cudnn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "device/cuda/check.h"

namespace lockstep::device {

namespace {

void* allocate(std::size_t bytes) {
  void* address = nullptr;
  cuda::check(cudaMalloc(&address, bytes), "cudaMalloc");
  return address;
}

// Of CUDA's number for a version, 1000 major + 10 minor.
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

CudaDevice::CudaDevice(int ordinal)
    : Device(Pool::create(allocate, [](void* address) { cudaFree(address); })), ordinal_(ordinal) {
  cuda::check(cudaSetDevice(ordinal), "cudaSetDevice");
  compute_ = std::make_unique<cuda::Stream>();
  done_ = std::make_unique<cuda::Event>();
}

// What is queued still works on memory that the host is about to release.
CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(stream());
}

std::string CudaDevice::description() const {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, ordinal_), "cudaGetDeviceProperties");
  int driver = 0;
  cuda::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  int runtime = 0;
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return fmt::format("cuda {} sm_{}{} driver {} runtime {} cuBLASLt {} cuDNN {}",
                     static_cast<const char*>(properties.name), properties.major, properties.minor,
                     version_text(driver), version_text(runtime), cublasLtGetVersion(), cudnnGetVersion());
}

void CudaDevice::synchronise() {
  done_->record(*compute_);
  wait_for(*done_);
}

// Most waits are short; a long one leaves the core to others.
void CudaDevice::wait_for(const cuda::Event& event) {
  constexpr int yields = 100;
  constexpr std::chrono::microseconds first{20};
  constexpr std::chrono::microseconds longest{200};
  std::chrono::microseconds nap = first;
  for (int turn = 0; !event.done(); ++turn) {
    if (monitor_) monitor_();
    if (turn < yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap);
      nap = std::min(nap * 2, longest);
    }
  }
  // What it saw last is over.
  if (monitor_) monitor_();
}

void CudaDevice::upload_bytes(const void* host, std::size_t bytes, void* address) {
  if (bytes == 0) return;
  cuda::check(cudaMemcpyAsync(address, host, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
}

void CudaDevice::download_bytes(const void* address, std::size_t bytes, void* host) {
  if (bytes == 0) return;
  synchronise();
  cuda::check(cudaMemcpyAsync(host, address, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
  synchronise();
}

}  // namespace lockstep::device
