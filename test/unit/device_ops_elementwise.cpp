// fill, copy, cast, scale, axpy, lerp, and the test frame's own rounding.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// One element, odd, a part of a block of 256, more than one block, and several elements for each thread.
std::int64_t some_count() {
  return GENERATE(1, 7, 1000, 40001);
}

}  // namespace

TEST_CASE("values are rounded to nearest, ties to even", "[device][ops]") {
  CHECK(rounded(1.f + 0x1p-8f, DType::bf16) == 1.f);
  CHECK(rounded(1.f + 0x3p-8f, DType::bf16) == 1.f + 0x1p-6f);
  CHECK(rounded(1.f + 0x1p-11f, DType::f16) == 1.f);
  CHECK(rounded(0x1.8p-24f, DType::f16) == 0x1p-23f);
  CHECK(rounded(0x1p-25f, DType::f16) == 0.f);
  CHECK(rounded(65519.f, DType::f16) == 65504.f);
  CHECK(rounded(-65520.f, DType::f16) == -infinity);
  CHECK(rounded(std::numeric_limits<float>::max(), DType::bf16) == infinity);
}

TEST_CASE("cast rounds to nearest even and keeps what is special", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("cast")));
  INFO(trial);
  Device& device = *trial.device;
  Values x = random_values({3001}, DType::f32, 1, 100.f);
  const std::vector<float> special{0.f,
                                   -0.f,
                                   infinity,
                                   -infinity,
                                   std::numeric_limits<float>::quiet_NaN(),
                                   1.f + 0x1p-8f,
                                   1.f + 0x3p-8f,
                                   1.f + 0x1p-11f,
                                   1.f + 0x3p-11f,
                                   0x1p-25f,
                                   0x1.8p-24f,
                                   65519.f,
                                   65520.f,
                                   -1e30f,
                                   std::numeric_limits<float>::max(),
                                   std::numeric_limits<float>::denorm_min(),
                                   0x1.8p-130f};
  std::copy(special.begin(), special.end(), x.host.begin());
  const std::vector<float> got = repeated(trial, [&] {
    const Tensor narrow = device.empty(x.shape, trial.dtype);
    device.cast(in_f32(device, x), narrow);
    return from_device(device, narrow);
  });
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float wanted = rounded(x.host[i], trial.dtype);
    INFO("element " << i << ", " << x.host[i]);
    if (std::isnan(wanted)) {
      CHECK(std::isnan(got[i]));
    } else if (got[i] != wanted || std::signbit(got[i]) != std::signbit(wanted)) {
      CHECK(got[i] == wanted);
    }
  }
  // Between two tensors of one type it is a copy.
  const Values narrow = values_of(x.shape, trial.dtype, got);
  const Tensor other = device.empty(x.shape, trial.dtype);
  device.cast(on_device(device, narrow), other);
  check_near(from_device(device, other), got, {trial.dtype, 0});
}

TEST_CASE("fill and copy", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("copy")));
  const std::int64_t count = some_count();
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  const Values x = random_values({count}, trial.dtype, 2);
  const Tensor y = unwritten(device, {count}, trial.dtype);
  device.copy(on_device(device, x), y);
  CHECK(from_device(device, y) == x.host);
  device.fill(0.1f, y);
  CHECK(from_device(device, y) == std::vector<float>(x.host.size(), rounded(0.1f, trial.dtype)));
  // Parts that begin at an odd element, and touch nothing else.
  if (count < 7) return;
  device.copy(on_device(device, x).slice(1, {count - 4}), y.slice(3, {count - 4}));
  device.fill(2.f, y.slice(1, {1}));
  std::vector<float> wanted(x.host.size(), rounded(0.1f, trial.dtype));
  std::copy(x.host.begin() + 1, x.host.end() - 3, wanted.begin() + 3);
  wanted[1] = 2.f;
  CHECK(from_device(device, y) == wanted);
  CHECK_THROWS_AS(device.copy(y, device.empty({count + 1}, trial.dtype)), Error);
}

TEST_CASE("copy moves integers, bytes and f64", "[device][ops]") {
  for (const Trial& trial : f32_trials("copy of other types")) {
    INFO(trial);
    Device& device = *trial.device;
    const std::vector<std::uint8_t> bytes{1, 2, 255, 0, 7};
    const Tensor from = device.empty({5}, DType::u8), to = device.empty({5}, DType::u8);
    device.upload(bytes, from);
    device.copy(from, to);
    std::vector<std::uint8_t> got(5);
    device.download(to, got);
    CHECK(got == bytes);
  }
}

TEST_CASE("scale, axpy and lerp", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("axpy")));
  const std::int64_t count = some_count();
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values({count}, DType::f32, 3), y = random_values({count}, DType::f32, 4);
  const auto run = [&](Device& on, int operation) {
    const Tensor a = on_device(on, x), b = on_device(on, y);
    if (operation == 0) on.scale(-1.7f, b);
    if (operation == 1) on.axpy(0.3f, a, b);
    if (operation == 2) on.lerp(0.01f, a, b);
    return from_device(on, b);
  };
  for (int operation = 0; operation < 3; ++operation) {
    INFO("operation " << operation);
    const std::vector<float> magnitudes(x.host.size(), 2.f);
    check_near(repeated(trial, [&] { return run(device, operation); }), run(reference, operation),
               {DType::f32, 2, magnitudes});
  }
}

TEST_CASE("axpy adds in every type, as gradients that meet do", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("axpy")));
  const std::int64_t count = some_count();
  INFO(trial << ", " << count);
  Device& device = *trial.device;
  CpuDevice reference;
  const Values x = random_values({count}, trial.dtype, 3), y = random_values({count}, trial.dtype, 4);
  const auto run = [&](Device& on, const Tensor& a, const Tensor& b) {
    on.axpy(0.3f, a, b);
    return from_device(on, b);
  };
  const std::vector<float> magnitudes(x.host.size(), 2.f);
  check_near(repeated(trial, [&] { return run(device, on_device(device, x), on_device(device, y)); }),
             run(reference, in_f32(reference, x), in_f32(reference, y)), {trial.dtype, 2, magnitudes});
}

TEST_CASE("what devices cannot do yet is written down, and true", "[device][ops]") {
  for (const Gap& gap : gaps()) {
    INFO(gap.kind << " " << gap.operation << " " << name_of(gap.dtype));
    CHECK((gap.kind == "cpu" || gap.kind == "cuda"));
    if (gap.kind != "cpu" || !gap.operation.empty()) continue;
    CpuDevice device;
    CHECK_THROWS_AS(device.cast(device.empty({1}), device.empty({1}, gap.dtype)), Error);
  }
}
