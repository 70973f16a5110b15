#include "optim/weight_average.h"

#include <catch2/catch.hpp>

#include "device_under_test.h"
#include "gradient_check.h"

using lockstep::device::Device;
using lockstep::nn::ParameterSet;
using lockstep::optim::WeightAverage;
using lockstep::test::devices;
using lockstep::test::to_host;

TEST_CASE("the average starts as the weights, follows them, and takes their place on demand", "[optim]") {
  Device& device = *GENERATE(from_range(devices()));
  ParameterSet parameters(device);
  parameters.add("weight", {2}, {}, true);
  parameters.add("bias", {1}, {}, false);
  parameters.allocate(1);
  parameters.import_values(0, std::vector<float>{8.f, -4.f});
  parameters.import_values(1, std::vector<float>{1.f});
  WeightAverage average(0.75, parameters);
  const auto averaged = [&](std::size_t index) {
    return to_host(device, parameters[index].slice_of(average.buffers()));
  };
  CHECK(averaged(0) == std::vector<float>{8.f, -4.f});

  parameters.import_values(0, std::vector<float>{0.f, 4.f});
  CHECK(averaged(0) == std::vector<float>{8.f, -4.f});  // a copy, not the same memory
  average.update();
  CHECK(averaged(0) == std::vector<float>{6.f, -2.f});
  average.update();
  CHECK(averaged(0) == std::vector<float>{4.5f, -0.5f});
  CHECK(averaged(1) == std::vector<float>{1.f});
  CHECK(to_host(device, parameters[0].value) == std::vector<float>{0.f, 4.f});

  {
    const WeightAverage::InUse in_use(average);
    CHECK(to_host(device, parameters[0].value) == std::vector<float>{4.5f, -0.5f});
    CHECK(to_host(device, parameters.groups()[0].values.slice(0, {2})) == std::vector<float>{4.5f, -0.5f});
  }
  CHECK(to_host(device, parameters[0].value) == std::vector<float>{0.f, 4.f});
  CHECK(averaged(0) == std::vector<float>{4.5f, -0.5f});
  // A value that is set after the exchange is seen by the average: nothing stayed behind in the other buffer.
  parameters.import_values(0, std::vector<float>{4.5f, 3.5f});
  average.update();
  CHECK(averaged(0) == std::vector<float>{4.5f, 0.5f});
}
