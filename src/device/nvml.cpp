#include "device/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"

namespace lockstep::device {

namespace {

constexpr int success = 0;
constexpr int sm_clock = 1;         // NVML_CLOCK_SM
constexpr int gpu_temperature = 0;  // NVML_TEMPERATURE_GPU

// Nothing where the function is missing, or not supported by this GPU.
template <typename Value, typename Function, typename Call>
std::optional<Value> ask(Function* function, const Call& call) {
  Value value{};
  if (function == nullptr || call(&value) != success) return {};
  return value;
}

}  // namespace

template <typename Function>
void Nvml::find(const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library_, name));
}

template <typename Function>
void Nvml::need(const char* name, Function*& function) {
  find(name, function);
  if (function == nullptr) throw Error(ExitCode::bad_config, fmt::format("NVML has no {}", name));
}

void Nvml::need_success(Return status, const char* call) const {
  if (status == success) return;
  throw Error(ExitCode::bad_config, fmt::format("{}: {}", call, error_text_(status)));
}

Nvml::Nvml(const std::string& library, const std::string& pci_address)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (library_ == nullptr) throw Error(ExitCode::bad_config, ::dlerror());
  Return (*init)() = nullptr;
  Return (*find_gpu)(const char*, Handle*) = nullptr;
  need("nvmlErrorString", error_text_);
  need("nvmlInit_v2", init);
  need("nvmlDeviceGetHandleByPciBusId_v2", find_gpu);
  find("nvmlDeviceGetUtilizationRates", utilisation_);
  find("nvmlDeviceGetMemoryInfo", memory_);
  find("nvmlDeviceGetClockInfo", clock_);
  find("nvmlDeviceGetPowerUsage", power_);
  find("nvmlDeviceGetTemperature", temperature_);
  find("nvmlDeviceGetCurrentClocksThrottleReasons", throttle_reasons_);
  need_success(init(), "nvmlInit");
  need_success(find_gpu(pci_address.c_str(), &gpu_), "nvmlDeviceGetHandleByPciBusId");
}

GpuReading Nvml::read() const {
  const auto utilisation = ask<Utilisation>(utilisation_, [&](auto* to) { return utilisation_(gpu_, to); });
  const auto memory = ask<Memory>(memory_, [&](auto* to) { return memory_(gpu_, to); });
  const auto clock = ask<unsigned>(clock_, [&](auto* to) { return clock_(gpu_, sm_clock, to); });
  const auto power = ask<unsigned>(power_, [&](auto* to) { return power_(gpu_, to); });
  const auto degrees =
      ask<unsigned>(temperature_, [&](auto* to) { return temperature_(gpu_, gpu_temperature, to); });
  const auto reasons =
      ask<unsigned long long>(throttle_reasons_, [&](auto* to) { return throttle_reasons_(gpu_, to); });
  GpuReading reading;
  if (utilisation) reading.utilisation = utilisation->gpu;
  if (memory) reading.memory = static_cast<double>(memory->used);
  if (clock) reading.clock = *clock;
  if (power) reading.power = 1e-3 * *power;
  if (degrees) reading.temperature = *degrees;
  reading.throttle_reasons = reasons.value_or(0);
  return reading;
}

}  // namespace lockstep::device
