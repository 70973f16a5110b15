#include "device/cuda/downloads.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/cuda/check.h"

namespace lockstep::device::cuda {

namespace {

constexpr std::size_t half_bytes = std::size_t{2} << 20;

}  // namespace

Downloads::Downloads(WaitForEvent wait) : wait_(std::move(wait)) {}

void Downloads::copy(const void* address, std::size_t bytes, void* host, const Stream& stream) {
  const auto* from = static_cast<const std::byte*>(address);
  auto* to = static_cast<std::byte*>(host);
  const std::size_t parts = (bytes + half_bytes - 1) / half_bytes;
  const auto size_of_part = [&](std::size_t part) { return std::min(half_bytes, bytes - part * half_bytes); };
  for (std::size_t part = 0; part <= parts; ++part) {
    if (part < parts) {
      auto& half = halves_[part % 2];
      // NOLINTNEXTLINE(modernize-make-unique): an aggregate
      if (!half) half.reset(new Half{PageLocked(half_bytes), Event()});
      check(cudaMemcpyAsync(half->memory.data(), from + part * half_bytes, size_of_part(part),
                            cudaMemcpyDeviceToHost, stream.get()),
            "cudaMemcpyAsync to the host");
      half->filled.record(stream);
    }
    if (part > 0) {
      const Half& half = *halves_[(part - 1) % 2];
      wait_(half.filled);
      std::memcpy(to + (part - 1) * half_bytes, half.memory.data(), size_of_part(part - 1));
    }
  }
}

}  // namespace lockstep::device::cuda
