#include "device/gpu_monitor.h"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>

using namespace lockstep::device;
using namespace std::chrono_literals;

namespace {

// The stand-in of test/fake_gpu/nvml.
const char* library() {
  const char* const build = std::getenv("BUILD");
  static const std::string path =
      std::string(build != nullptr ? build : "build") + "/fake_gpu/nvml/libnvidia-ml.so.1";
  return path.c_str();
}

struct Setting {
  explicit Setting(const char* value) { ::setenv("FAKE_NVML", value, 1); }
  ~Setting() { ::unsetenv("FAKE_NVML"); }
};

}  // namespace

TEST_CASE("readings of a GPU become means, maxima and all reasons", "[device]") {
  const std::array<GpuReading, 3> readings{{{90, 1e9, 1000, 300, 60, 0x4},
                                            {70, 3e9, 1500, 500, 65, 0x20},
                                            {std::nullopt, 2e9, 2000, {}, {}, 0x1}}};
  const GpuReading all = summary(readings);
  CHECK(all.utilisation == 80);
  CHECK(all.memory == 3e9);
  CHECK(all.clock == 1500);
  CHECK(all.power == 400);
  CHECK(all.temperature == 65);
  CHECK(throttle_text(all.throttle_reasons) == "power cap + heat");
  CHECK(throttle_text(0x1).empty());
  CHECK_FALSE(summary({}).utilisation);
}

TEST_CASE("NVML is asked in a thread of its own", "[device]") {
  GpuMonitor monitor("0000:1a:00.0", {library(), 1h, 60s, 3600});
  CHECK(monitor.problem().empty());
  CHECK(throttle_text(monitor.take_throttle_reasons()) == "power cap + heat");
  CHECK(monitor.take_throttle_reasons() == 0);  // no reading since
  // The second time there is no newer one.
  for (int i = 0; i < 2; ++i) {
    const auto reading = monitor.take();
    REQUIRE(reading);
    CHECK(reading->utilisation == 87);
    CHECK(reading->memory == 3.0 * (1 << 30));
    CHECK(reading->clock == 1755);
    CHECK(reading->power == 412.5);
    CHECK(reading->temperature == 61);
    CHECK(throttle_text(reading->throttle_reasons) == "power cap + heat");
  }
}

TEST_CASE("what a GPU does not tell is absent", "[device]") {
  const Setting setting("bare");
  GpuMonitor monitor("0000:1a:00.0", {library(), 1h, 60s, 3600});
  const auto reading = monitor.take();
  REQUIRE(reading);
  CHECK(reading->memory);
  CHECK_FALSE(reading->utilisation);
  CHECK_FALSE(reading->power);
  CHECK(reading->throttle_reasons == 0);
}

TEST_CASE("an old reading is none", "[device]") {
  GpuMonitor monitor("0000:1a:00.0", {library(), 1h, 60s, -1});
  CHECK(monitor.problem().empty());
  CHECK_FALSE(monitor.take());
}

TEST_CASE("why there is no NVML is told", "[device]") {
  const auto problem = [](const char* path, const char* address) {
    return GpuMonitor(address, {path, 1h, 60s, 3600}).problem();
  };
  CHECK_THAT(problem("libno-such-ml.so.1", "0000:1a:00.0"), Catch::Contains("libno-such-ml.so.1"));
  CHECK(problem(library(), "1a") == "nvmlDeviceGetHandleByPciBusId: Not Found");
  CHECK_THAT(problem("libm.so.6", "0000:1a:00.0"), Catch::Contains("NVML has no nvmlErrorString"));
  const Setting setting("absent");
  CHECK(problem(library(), "0000:1a:00.0") == "nvmlInit: Driver Not Loaded");
}

TEST_CASE("a driver that hangs holds nobody up", "[device]") {
  const Setting setting("hang");
  GpuMonitor monitor("0000:1a:00.0", {library(), 1h, 50ms});
  CHECK(monitor.problem() == "the driver does not answer");
  CHECK_FALSE(monitor.take());
}
