#include "device/cpu/cpu_device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "core/error.h"
#include "device/cpu/bf16_support.h"
#include "device/cpu/convolution_cache.h"
#include "device/cpu/matmul_cache.h"
#include "device/cpu/parallel.h"

namespace lockstep::device {

namespace {

// A page, so that no two buffers share one and vector loads never straddle cache lines.
constexpr std::size_t alignment = 4096;

void* allocate(std::size_t bytes) {
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

std::string instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse4.1";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2";
    default:
      return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::all ? "generic" : "avx512";
  }
}

}  // namespace

CpuDevice::CpuDevice(int threads)
    : Device(Pool::create(allocate, [](void* address) { std::free(address); })), threads_(threads) {
  if (threads < 1) {
    throw Error(ExitCode::bad_config, fmt::format("threads is {}, wanted at least 1", threads));
  }
  cpu::set_library_threads(threads);
  convolutions_ = std::make_unique<cpu::ConvolutionCache>();
  products_ = std::make_unique<cpu::MatmulCache>();
}

CpuDevice::~CpuDevice() = default;

std::string CpuDevice::description() const {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("cpu {} oneDNN {}.{}.{} threads {}", instruction_set(), version->major, version->minor,
                     version->patch, threads_);
}

std::string CpuDevice::arithmetic(DType type) const {
  if (type == DType::f32) return {};
  const std::string_view instructions = type == DType::bf16 ? cpu::bf16_instructions() : std::string_view();
  return fmt::format("{} by {}", name_of(type), instructions.empty() ? "f32" : instructions);
}

Tensor CpuDevice::widened(const Tensor& x) {
  Tensor wide = empty(x.shape());
  cast(x, wide);
  return wide;
}

void CpuDevice::upload_bytes(const void* host, std::size_t bytes, void* address) {
  if (bytes > 0) std::memcpy(address, host, bytes);
}

void CpuDevice::download_bytes(const void* address, std::size_t bytes, void* host) {
  if (bytes > 0) std::memcpy(host, address, bytes);
}

}  // namespace lockstep::device
