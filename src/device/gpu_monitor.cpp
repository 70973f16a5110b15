#include "device/gpu_monitor.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "device/nvml.h"

namespace lockstep::device {

namespace {

// Of one a second: what an hour without a call of take() leaves is enough for a mean.
constexpr std::size_t most_readings = 3600;

}  // namespace

struct GpuMonitor::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<GpuReading> readings;    // since the last take()
  std::uint64_t throttle_reasons = 0;  // since the last take_throttle_reasons()
  std::optional<GpuReading> newest;
  double newest_time = 0;  // monotonic_seconds()
  std::string problem;
  bool stop = false;
  bool ended = false;  // the thread has, or soon will have

  void add(const GpuReading& reading) {
    const std::lock_guard guard(mutex);
    if (readings.size() < most_readings) readings.push_back(reading);
    throttle_reasons |= reading.throttle_reasons;
    newest = reading;
    newest_time = monotonic_seconds();
    changed.notify_all();
  }

  bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, time, [this] { return stop; });
  }

  void end(const std::string& why) {
    const std::lock_guard guard(mutex);
    problem = why;
    ended = true;
    changed.notify_all();
  }
};

GpuMonitor::GpuMonitor(const std::string& pci_address, const GpuMonitorOptions& options)
    : options_(options), shared_(std::make_shared<Shared>()) {
  std::thread([shared = shared_, options, pci_address] {
    try {
      const Nvml nvml(options.library, pci_address);
      do {
        shared->add(nvml.read());
      } while (!shared->wait(options.every));
      shared->end({});
    } catch (const std::exception& error) {
      shared->end(error.what());
    }
  }).detach();
  std::unique_lock lock(shared_->mutex);
  const bool answered = shared_->changed.wait_for(
      lock, options_.patience, [this] { return shared_->newest.has_value() || shared_->ended; });
  problem_ = answered ? shared_->problem : "the driver does not answer";
}

GpuMonitor::~GpuMonitor() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, options_.patience, [this] { return shared_->ended; });
}

std::uint64_t GpuMonitor::take_throttle_reasons() {
  const std::lock_guard guard(shared_->mutex);
  return std::exchange(shared_->throttle_reasons, 0);
}

std::optional<GpuReading> GpuMonitor::take() {
  const std::lock_guard guard(shared_->mutex);
  if (!shared_->newest || monotonic_seconds() - shared_->newest_time > options_.stale_seconds) return {};
  if (shared_->readings.empty()) return shared_->newest;
  const GpuReading taken = summary(shared_->readings);
  shared_->readings.clear();
  return taken;
}

}  // namespace lockstep::device
