#include "device/tensor.h"

#include <catch2/catch.hpp>

#include "core/error.h"
#include "device/cpu/cpu_device.h"
#include "gradient_check.h"

using lockstep::Error;
using lockstep::device::CpuDevice;
using lockstep::device::DType;
using lockstep::device::Pool;
using lockstep::device::Shape;
using lockstep::device::Tensor;
using lockstep::test::pattern;
using lockstep::test::pattern_tensor;
using lockstep::test::to_host;

TEST_CASE("shapes", "[device]") {
  CHECK(Shape{}.count() == 1);
  CHECK(Shape{3, 0, 2}.count() == 0);
  CHECK(Shape{64, 28, 28}.text() == "[64, 28, 28]");
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{2} != Shape{2, 1});
  CHECK_THROWS_AS((Shape{1, -1}), Error);
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST_CASE("tensors share storage and know their type", "[device]") {
  CpuDevice device;
  const Tensor whole = device.zeros({4, 3});
  device.fill(7.f, whole.slice(3, {2, 3}));
  CHECK(to_host(device, whole) == std::vector<float>{0, 0, 0, 7, 7, 7, 7, 7, 7, 0, 0, 0});
  CHECK(to_host(device, whole.reshaped({12}).slice(2, {2})) == std::vector<float>{0, 7});
  CHECK_THROWS_AS(whole.reshaped({5}), Error);
  CHECK_THROWS_AS(whole.slice(10, {3}), Error);
  CHECK_THROWS_AS(whole.i64(), Error);
  CHECK_THROWS_AS(Tensor().f32(), Error);
  CHECK(!Tensor());
  CHECK(whole);
  CHECK(device.empty({5}, DType::i64).bytes() == 40);
}

TEST_CASE("the pool hands blocks out again and outlives nobody's tensor", "[device]") {
  int allocated = 0, released = 0;
  Tensor survivor;
  {
    const std::shared_ptr<Pool> pool = Pool::create(
        [&](std::size_t bytes) {
          ++allocated;
          return ::operator new(bytes);
        },
        [&](void* address) {
          ++released;
          ::operator delete(address);
        });
    void* first = pool->take(1000).get();
    CHECK(pool->take(1000).get() == first);
    CHECK(pool->take(990).get() == first);  // the same size class
    CHECK(pool->take(0).get() != nullptr);
    CHECK(pool->system_allocations() == 2);
    survivor = Tensor(pool->take(1 << 20), 0, {1}, DType::f32);
    CHECK(allocated == 3);
    CHECK(pool->bytes_held() >= (1 << 20) + 1000);
  }
  CHECK(released == 0);
  survivor = Tensor();
  CHECK(released == 3);
}

TEST_CASE("element-wise operations", "[device]") {
  const int threads = GENERATE(1, 2);
  const std::int64_t count = GENERATE(0, 1, 17, 40000);
  CpuDevice device(threads);
  const std::vector<float> a = pattern(count, 1), b = pattern(count, 2);
  const Tensor x = pattern_tensor(device, {count}, 1);
  const Tensor y = pattern_tensor(device, {count}, 2);
  std::vector<float> wanted = b;
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += 2.f * a[i];
  device.axpy(2.f, x, y);
  CHECK(to_host(device, y) == wanted);
  device.scale(-4.f, y);
  for (float& value : wanted) value *= -4.f;
  CHECK(to_host(device, y) == wanted);
  device.copy(x, y);
  CHECK(to_host(device, y) == a);
  device.fill(3.f, y);
  CHECK(to_host(device, y) == std::vector<float>(a.size(), 3.f));
  CHECK_THROWS_AS(device.axpy(1.f, x, device.empty({count + 1})), Error);
}

TEST_CASE("the device says what its bits depend on", "[device]") {
  CHECK_THAT(CpuDevice(2).description(), Catch::Contains("oneDNN") && Catch::Contains("threads 2"));
  CHECK_THROWS_AS(CpuDevice(0), Error);
}
