// One update by SGD and AdamW; the optimizers' own tests hold many updates against PyTorch.
#include <catch2/catch.hpp>

#include "device/cpu/cpu_device.h"
#include "device_under_test.h"

using lockstep::device::AdamwArguments;
using lockstep::device::CpuDevice;
using lockstep::device::Device;
using lockstep::device::DType;
using lockstep::device::SgdArguments;
using lockstep::device::Tensor;
using namespace lockstep::test;

namespace {

const SgdArguments sgd{
    .learning_rate = 0.1f, .gradient_scale = 0.25f, .momentum = 0.9f, .weight_decay = 0.01f};
const AdamwArguments adamw{.gradient_scale = 0.25f,
                           .value_scale = 0.999f,
                           .exp_avg_weight = 0.1f,
                           .beta2 = 0.999f,
                           .exp_avg_sq_weight = 0.001f,
                           .step_size = 0.01f,
                           .root_correction = 0.0316f,
                           .eps = 1e-8f};

// Values, then state, after two updates from this element on.
std::vector<float> updated(Device& device, std::int64_t count, std::int64_t first, bool with_adamw) {
  const auto tensor = [&](std::uint64_t stream) {
    return on_device(device, random_values({count + first}, DType::f32, stream)).slice(first, {count});
  };
  const Tensor gradient = tensor(1), value = tensor(2), state = tensor(3), squares = tensor(4);
  device.fill(0.5f, squares);  // never negative
  for (int update = 0; update < 2; ++update) {
    if (with_adamw) {
      device.adamw_step(adamw, gradient, value, state, squares);
    } else {
      device.sgd_step(sgd, gradient, value, state);
    }
  }
  std::vector<float> result = from_device(device, value);
  for (const Tensor& more : {state, squares}) {
    const std::vector<float> host = from_device(device, more);
    result.insert(result.end(), host.begin(), host.end());
  }
  return result;
}

}  // namespace

TEST_CASE("updates by SGD and AdamW on every device", "[device][ops]") {
  const Trial trial = GENERATE(from_range(f32_trials("optimizers")));
  const std::int64_t count = GENERATE(1, 7, 3001);
  const std::int64_t first = GENERATE(0, 1);  // 1: at an address that is no multiple of 16
  const bool with_adamw = GENERATE(false, true);
  INFO(trial << ", " << count << " elements from " << first << (with_adamw ? ", AdamW" : ", SGD"));
  CpuDevice reference;
  const std::vector<float> got =
      repeated(trial, [&] { return updated(*trial.device, count, first, with_adamw); });
  check_near(got, updated(reference, count, first, with_adamw),
             {DType::f32, 8, std::vector<float>(got.size(), 1.5f)});
}
