// How a GPU is doing, as its driver tells it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace lockstep::device {

// All of the GPU, whoever uses it. Absent: what this GPU does not tell.
struct GpuReading {
  std::optional<double> utilisation;   // percent of the time in which any kernel ran
  std::optional<double> memory;        // bytes in use
  std::optional<double> clock;         // MHz, of the multiprocessors
  std::optional<double> power;         // watts
  std::optional<double> temperature;   // degrees Celsius
  std::uint64_t throttle_reasons = 0;  // what holds the clock down: NVML's bits
};

// Of several readings: the means of utilisation, clock and power, the most memory and the highest
// temperature, all reasons for a low clock.
GpuReading summary(std::span<const GpuReading> readings);

// "power cap + heat"; empty where the clock is what it could be, or the GPU has nothing to do.
std::string throttle_text(std::uint64_t reasons);

}  // namespace lockstep::device
