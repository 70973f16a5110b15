#include "device/gpu_reading.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace lockstep::device {

namespace {

using Field = std::optional<double> GpuReading::*;

std::optional<double> mean(std::span<const GpuReading> readings, Field field) {
  double sum = 0;
  double count = 0;
  for (const GpuReading& reading : readings) {
    if (!(reading.*field)) continue;
    sum += *(reading.*field);
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> greatest(std::span<const GpuReading> readings, Field field) {
  std::optional<double> most;
  for (const GpuReading& reading : readings) most = std::max(most, reading.*field);
  return most;
}

}  // namespace

GpuReading summary(std::span<const GpuReading> readings) {
  std::uint64_t reasons = 0;
  for (const GpuReading& reading : readings) reasons |= reading.throttle_reasons;
  return {mean(readings, &GpuReading::utilisation),     greatest(readings, &GpuReading::memory),
          mean(readings, &GpuReading::clock),           mean(readings, &GpuReading::power),
          greatest(readings, &GpuReading::temperature), reasons};
}

std::string throttle_text(std::uint64_t reasons) {
  // By nvmlClocksThrottleReason... of nvml.h; 0x1, a GPU without work, is no fault.
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 8> words{
      {{0x2, "clocks set by an application"},
       {0x4, "power cap"},
       {0x8, "hardware slowdown"},
       {0x10, "sync boost"},
       {0x20, "heat"},
       {0x40, "heat (hardware)"},
       {0x80, "power brake"},
       {0x100, "display clocks"}}};
  std::string text;
  for (const auto& [bit, word] : words) {
    if ((reasons & bit) == 0) continue;
    if (!text.empty()) text += " + ";
    text += word;
  }
  return text;
}

}  // namespace lockstep::device
