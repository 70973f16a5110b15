#include "train/learner.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "device/cpu/cpu_device.h"

using lockstep::train::Config;
using lockstep::train::config_keys;
using lockstep::train::Key;
using lockstep::train::Learner;

namespace {

Config resnet20() {
  Config config;
  for (const Key& key : config_keys()) {
    if (key.name != "data.train") key.set(config, key.default_text);
  }
  config.model.name = "resnet";
  return config;
}

}  // namespace

TEST_CASE("micro-batches too small for batch normalisation are refused before the first step", "[train]") {
  const Learner one_pixel(resnet20(), std::make_unique<lockstep::device::CpuDevice>(1), {4, 4},
                          10);  // in the last stage
  CHECK_NOTHROW(one_pixel.check_micro_batches(4, 16));
  CHECK_NOTHROW(one_pixel.check_micro_batches(4, 18));
  CHECK_NOTHROW(one_pixel.check_micro_batches(4, 0));
  for (const auto& [micro_batch, samples] : {std::pair(4, 17), std::pair(1, 16), std::pair(8, 1)}) {
    try {
      one_pixel.check_micro_batches(micro_batch, samples);
      FAIL("accepted");
    } catch (const lockstep::Error& error) {
      CHECK(error.code() == lockstep::ExitCode::bad_config);
      CHECK_THAT(error.what(), Catch::Contains("leaves a micro-batch of 1"));
    }
  }
  const Learner four_pixels(resnet20(), std::make_unique<lockstep::device::CpuDevice>(1), {8, 8}, 10);
  CHECK_NOTHROW(four_pixels.check_micro_batches(1, 17));
}

TEST_CASE("running statistics are state of the model, not parameters", "[train]") {
  Learner learner(resnet20(), std::make_unique<lockstep::device::CpuDevice>(1), {8, 8}, 10);
  CHECK(learner.statistic_count() == 1376);
  const auto value_of = [&](const std::string& name) {
    auto snapshot = learner.snapshot();
    for (const auto& view : snapshot.views()) {
      if (view.name == name) return view.data[0];
    }
    FAIL(name << " is not there");
    return 0.f;
  };
  CHECK(value_of("model/bn1.running_mean") == 0.f);
  CHECK(value_of("model/bn1.running_var") == 1.f);
  const auto before = learner.snapshot();
  learner.absorb_statistics(std::vector<float>(1376, 3.f));
  CHECK(value_of("model/bn1.running_mean") == Approx(0.3));
  CHECK(value_of("model/layer3.2.bn2.running_var") == Approx(1.2));
  learner.restore(before, 0);
  CHECK(value_of("model/bn1.running_mean") == 0.f);
}
