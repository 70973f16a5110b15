// Asks NVML again and again how a GPU is doing, in a thread of its own: no step waits for the driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "device/gpu_reading.h"

namespace lockstep::device {

struct GpuMonitorOptions {
  std::string library = "libnvidia-ml.so.1";
  std::chrono::milliseconds every{1000};
  // How long the start waits for the first reading, and the end for a call that is under way.
  std::chrono::milliseconds patience{3000};
  double stale_seconds = 10;  // a reading older than that is none
};

class GpuMonitor {
 public:
  // `pci_address`: "0000:1a:00.0".
  explicit GpuMonitor(const std::string& pci_address, const GpuMonitorOptions& options = {});
  // A thread that hangs in the driver is left to itself.
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // Why there are no readings; empty where there are. Known when the constructor is done.
  const std::string& problem() const { return problem_; }

  // The summary of the readings since the last call; the newest again where there was none since; nothing
  // where the driver has not answered for long. Returns at once.
  std::optional<GpuReading> take();

  // What has held the clock down since the last call, at any reading. Apart from take(). Returns at once.
  std::uint64_t take_throttle_reasons();

 private:
  struct Shared;

  GpuMonitorOptions options_;
  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this
  std::string problem_;
};

}  // namespace lockstep::device
