#include "device/cuda/cuda_device.h"

#include <cublasLt.h>
#include <cudnn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "device/cuda/check.h"
#include "device/cuda/device_memory.h"
#include "device/cuda/downloads.h"
#include "device/cuda/gpus.h"
#include "device/cuda/inbox.h"
#include "device/cuda/span_watch.h"
#include "device/cuda/stream_stopwatch.h"
#include "device/cuda/timeline.h"
#include "device/cuda/upload_ring.h"

namespace lockstep::device {

namespace {

constexpr std::size_t upload_ring_bytes = std::size_t{8} << 20;

class WaitingSince {
 public:
  explicit WaitingSince(std::atomic<double>& since) : since_(since) { since_ = monotonic_seconds(); }
  ~WaitingSince() { since_ = 0; }
  WaitingSince(const WaitingSince&) = delete;
  WaitingSince& operator=(const WaitingSince&) = delete;

 private:
  std::atomic<double>& since_;
};

// Makes the device the calling thread's first.
std::shared_ptr<Pool> make_pool(int ordinal, double memory_share) {
  cuda::use_gpu(ordinal);
  return cuda::make_device_pool(memory_share);
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, double memory_share)
    : Device(make_pool(ordinal, memory_share)),
      ordinal_(ordinal),
      compute_(std::make_unique<cuda::Stream>()),
      done_(std::make_unique<cuda::Event>()),
      timeline_(std::make_unique<cuda::Timeline>()),
      spans_(std::make_unique<cuda::SpanWatch>(*timeline_, *compute_)) {
  const cuda::WaitForEvent wait = [this](const cuda::Event& event) { wait_for(event); };
  uploads_ = std::make_unique<cuda::UploadRing>(upload_ring_bytes, wait);
  downloads_ = std::make_unique<cuda::Downloads>(wait);
  inbox_ = std::make_shared<cuda::Inbox>(*this, *compute_, *timeline_, wait);
}

// What is queued still works on memory that goes now.
CudaDevice::~CudaDevice() {
  cudaStreamSynchronize(stream());
  timeline_->collect();
  if (trace_ != nullptr) trace_->set_observer(nullptr);
}

void CudaDevice::show_in(Trace& trace) {
  trace_ = &trace;
  trace.set_observer(spans_.get());
  if (trace.has_file()) timeline_->start(trace, *compute_);
}

std::string CudaDevice::pci_address() const {
  return cuda::pci_address(ordinal_);
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
                     cuda::version_text(driver), cuda::version_text(runtime), cublasLtGetVersion(),
                     cudnnGetVersion());
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
  const WaitingSince waiting(*waited_for_since_);
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
  const cuda::Mark mark(*timeline_, Row::gpu_compute, "upload", "data", stream());
  uploads_->copy(host, bytes, address, *compute_);
}

void CudaDevice::download_bytes(const void* address, std::size_t bytes, void* host) {
  const cuda::Mark mark(*timeline_, Row::gpu_compute, "download", "data", stream());
  downloads_->copy(address, bytes, host, *compute_);
}

Tensor CudaDevice::send_bytes(const void* host, const Shape& shape, DType dtype) {
  return inbox_->send(host, shape, dtype);
}

void CudaDevice::receive(const Tensor& sent) {
  inbox_->receive(sent);
}

std::unique_ptr<Stopwatch> CudaDevice::make_stopwatch() {
  return std::make_unique<cuda::StreamStopwatch>(stream());
}

}  // namespace lockstep::device
