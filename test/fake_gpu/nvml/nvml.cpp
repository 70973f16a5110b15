// Stands in for NVIDIA's management library: a GPU that is busy, full and warm, the same at any address of a
// fake GPU. FAKE_NVML=absent: the driver is not loaded; hang: readings never come back; bare: a GPU that
// tells its memory only; hot: a GPU whose hardware slows it down.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <unistd.h>

namespace {

constexpr int success = 0, not_supported = 3, not_found = 6, driver_not_loaded = 9;

bool is_set_to(std::string_view setting) {
  const char* const given = std::getenv("FAKE_NVML");
  return given != nullptr && given == setting;
}

int gpu = 0;

template <typename Value>
int tell(void* device, Value* value, Value told) {
  if (device != &gpu) return not_found;
  if (is_set_to("bare")) return not_supported;
  *value = told;
  return success;
}

struct Utilisation {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return is_set_to("absent") ? driver_not_loaded : success;
}

const char* nvmlErrorString(int status) {
  return status == driver_not_loaded ? "Driver Not Loaded"
         : status == not_found       ? "Not Found"
                                     : "Unknown Error";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  // domain:bus:device.function
  if (std::strlen(address) != std::string_view("0000:1a:00.0").size() || address[4] != ':') return not_found;
  *device = &gpu;
  return success;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilisation* rates) {
  while (is_set_to("hang")) pause();
  return tell(device, rates, {87, 40});
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (device != &gpu) return not_found;
  *memory = {8ULL << 30, 5ULL << 30, 3ULL << 30};
  return success;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* clock) {
  return tell(device, clock, type == 1 ? 1755U : 9U);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  return tell(device, milliwatts, 412500U);
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  return tell(device, degrees, sensor == 0 ? 61U : 9U);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return tell(device, reasons, is_set_to("hot") ? 0x64ULL : 0x24ULL);
}
}
