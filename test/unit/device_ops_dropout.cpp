#include <catch2/catch.hpp>
#include <numeric>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DropoutKey;
using lockstep::device::DType;
using lockstep::device::Tensor;
using namespace lockstep::test;

TEST_CASE("dropout draws the same mask on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(trials("dropout")));
  // Less than one draw, one, a bit more, several blocks of threads.
  const auto [samples, features] = GENERATE(std::pair<std::int64_t, std::int64_t>(1, 1), std::pair(3, 128),
                                            std::pair(5, 129), std::pair(2, 5000));
  const double probability = GENERATE(0., 0.3, 0.99999);
  INFO(trial << ", [" << samples << ", " << features << "], p = " << probability);
  Device& device = *trial.device;
  CpuDevice reference;
  const DropoutKey key{.seed = 11, .step = 0x3'0000'0005, .layer = 6, .probability = probability};
  std::vector<std::int64_t> ids(static_cast<std::size_t>(samples));
  std::iota(ids.begin(), ids.end(), 0x0000'1234'ffff'fffe);  // the low word overflows
  const Values x = random_values({samples, features}, trial.dtype, 1);
  const Values dy = random_values({samples, features}, trial.dtype, 2);

  struct Result {
    std::vector<std::uint8_t> mask;
    std::vector<float> y, dx, dx_in_place;
  };
  const auto run = [&](Device& on, DType dtype) {
    Result result;
    const auto tensor = [&](const Values& values) {
      return on_device(on, {values.shape, dtype, values.host});
    };
    const Tensor y = unwritten(on, x.shape, dtype), dx = unwritten(on, x.shape, dtype);
    const Tensor mask = on.empty(x.shape, DType::u8);
    on.dropout_forward(tensor(x), key, ids, y, mask);
    const Tensor gradient = tensor(dy);
    on.dropout_backward(gradient, mask, probability, dx);
    on.dropout_backward(gradient, mask, probability, gradient);
    result.mask.resize(x.host.size());
    on.download(mask, result.mask);
    result.y = from_device(on, y);
    result.dx = from_device(on, dx);
    result.dx_in_place = from_device(on, gradient);
    return result;
  };
  const Result wanted = run(reference, DType::f32);
  Result got;
  repeated(trial, [&] {
    got = run(device, trial.dtype);
    return got.y;
  });
  CHECK(got.mask == wanted.mask);
  check_near(got.y, wanted.y, {trial.dtype});
  check_near(got.dx, wanted.dx, {trial.dtype});
  CHECK(got.dx_in_place == got.dx);
}

TEST_CASE("dropout refuses what its counters have no room for", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("dropout")));
  INFO(trial);
  Device& device = *trial.device;
  const Tensor x = device.zeros({2, 3}), mask = device.empty({2, 3}, DType::u8);
  const auto drop = [&](const DropoutKey& key, const std::vector<std::int64_t>& ids) {
    device.dropout_forward(x, key, ids, device.empty({2, 3}), mask);
  };
  CHECK_THROWS_AS(drop({1, 0, 0, 0.5}, {1}), Error);
  CHECK_THROWS_AS(drop({1, std::int64_t{1} << 36, 0, 0.5}, {1, 2}), Error);
  CHECK_THROWS_AS(drop({1, 0, 4096, 0.5}, {1, 2}), Error);
  CHECK_THROWS_AS(drop({1, 0, 0, 1.}, {1, 2}), Error);
}
