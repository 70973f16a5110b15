// Memory: what is where, who may touch it and when.
#include <catch2/catch.hpp>
#include <vector>

#include "child.h"
#include "kernels.h"

using Catch::Matchers::Contains;

namespace {

constexpr std::size_t count = 1000;
constexpr std::size_t bytes = count * sizeof(float);

const Settings protections[] = {{}, {{"FAKE_GPU_PROTECTION_KEYS", "0"}}};

}  // namespace

TEST_CASE("data come to the device and back", "[fake_gpu]") {
  for (const Settings& protection : protections) {
    CHECK(complaints_of(
              [] {
                const cudaStream_t stream = new_stream();
                float* const device = new_device_floats(count);
                float* const second = new_device_floats(count);
                float* const up = new_page_locked_floats(count, 1);
                float* const down = new_page_locked_floats(count, 0);
                EXPECT_OK(cudaMemcpyAsync(device, up, bytes, cudaMemcpyHostToDevice, stream));
                add_in_place(device, count, 2, stream);
                EXPECT_OK(cudaMemcpyAsync(second, device, bytes, cudaMemcpyDeviceToDevice, stream));
                EXPECT_OK(cudaMemcpyAsync(down, second, bytes, cudaMemcpyDeviceToHost, stream));
                EXPECT(down[0] != 3);
                EXPECT_OK(cudaStreamSynchronize(stream));
                EXPECT(down[0] == 3 && down[count - 1] == 3);
                up[0] = 7;
                std::vector<float> pageable(count);
                EXPECT_OK(cudaMemcpyAsync(device, up, bytes, cudaMemcpyHostToDevice, stream));
                EXPECT_OK(cudaMemcpyAsync(pageable.data(), device, bytes, cudaMemcpyDeviceToHost, stream));
                EXPECT(pageable[0] == 7);
                EXPECT_OK(cudaFree(device));
                EXPECT_OK(cudaFreeHost(up));
                EXPECT_OK(cudaStreamDestroy(stream));
              },
              protection) == "");
  }
}

TEST_CASE("the host sees garbage in a download before it has waited", "[fake_gpu]") {
  CHECK(complaints_of(
            [] {
              const cudaStream_t stream = new_stream();
              float* const device = new_device_floats(count);
              float* const host = new_page_locked_floats(count, 5);
              EXPECT_OK(cudaMemsetAsync(device, 0, bytes, stream));
              EXPECT_OK(cudaStreamSynchronize(stream));
              // Nothing that is queued after this is done.
              EXPECT_OK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
              EXPECT(host[0] != 5 && host[0] != 0);
              EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
            },
            {{"FAKE_GPU_FAULT", "cudaMemcpyAsync:1:stall"}}) == "");
}

TEST_CASE("the host may not touch device memory", "[fake_gpu]") {
  for (const Settings& protection : protections) {
    CHECK(struck_by_segv(
              [] {
                const cudaStream_t stream = new_stream();
                float* const device = new_device_floats(count);
                EXPECT_OK(cudaMemsetAsync(device, 0, bytes, stream));
                EXPECT_OK(cudaStreamSynchronize(stream));
                EXPECT(device[0] == 0);
              },
              protection) == "");
  }
}

TEST_CASE("memory that was freed stays out of reach", "[fake_gpu]") {
  CHECK_THAT(
      death_of([] {
        float* const data = new_device_floats(count);
        EXPECT_OK(cudaFree(data));
        EXPECT(new_device_floats(count) != data);
        add_in_place(data, count, 1, new_stream());
      }),
      Contains("add_in_place_kernel on stream 1 uses 4000 bytes at ") && Contains("memory that was freed"));
  CHECK_THAT(death_of([] {
               float* const data = new_device_floats(count);
               EXPECT_OK(cudaFree(data));
               EXPECT_OK(cudaFree(data));
             }),
             Contains("which is free already"));
  CHECK_THAT(death_of([] { EXPECT_OK(cudaFree(new_device_floats(count) + 1)); }),
             Contains("which is no allocation"));
  CHECK_THAT(death_of([] { EXPECT_OK(cudaFreeHost(new_device_floats(count))); }),
             Contains("which is device memory"));
}

TEST_CASE("ranges must lie in allocations, and copies go where they are said to go", "[fake_gpu]") {
  CHECK_THAT(death_of([] { add_in_place(new_device_floats(count) + 1, count, 1, new_stream()); }),
             Contains("beyond the end of an allocation of 4000 bytes, from its byte 4 on"));
  CHECK_THAT(death_of([] {
               std::vector<float> host(count);
               add_in_place(host.data(), count, 1, new_stream());
             }),
             Contains("neither device nor page-locked memory"));
  CHECK_THAT(death_of([] {
               float* const data = new_device_floats(count);
               EXPECT_OK(cudaMemcpyAsync(data, data, 4, cudaMemcpyHostToDevice, new_stream()));
             }),
             Contains("the source is device memory"));
  CHECK_THAT(death_of([] {
               float* const data = new_device_floats(count);
               EXPECT_OK(cudaMemcpyAsync(data, data, 4, cudaMemcpyDeviceToHost, new_stream()));
             }),
             Contains("the target is device memory"));
  CHECK_THAT(death_of([] {
               float* const data = new_device_floats(count);
               EXPECT_OK(cudaMemcpyAsync(data, data, 4, cudaMemcpyDefault, new_stream()));
             }),
             Contains("kind 4 is not on the list"));
}

TEST_CASE("page-locked memory belongs to a copy until the host has waited", "[fake_gpu]") {
  const auto upload_and = [](void (*disturb)(float* host), const Settings& settings = {}) {
    return in_child(settings, [=] {
      const cudaStream_t stream = new_stream();
      float* const device = new_device_floats(count);
      float* const host = new_page_locked_floats(count, 1);
      EXPECT_OK(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
      disturb(host);
      EXPECT_OK(cudaStreamSynchronize(stream));
      host[0] = 3;
      EXPECT_OK(cudaStreamSynchronize(stream));
    });
  };
  CHECK(upload_and([](float*) {}).output == "");
  CHECK_THAT(
      upload_and([](float* host) { host[count - 1] = 2; }).output,
      Contains(
          "the host has changed page-locked memory while it was under way: cudaMemcpyAsync of 4000 bytes"));
  CHECK_THAT(upload_and([](float* host) { EXPECT_OK(cudaFreeHost(host)); }).output,
             Contains("cudaFreeHost of memory that takes part in cudaMemcpyAsync"));
}

TEST_CASE("a device's memory comes to an end", "[fake_gpu]") {
  CHECK(complaints_of(
            [] {
              std::size_t free = 0;
              std::size_t total = 0;
              void* memory = nullptr;
              EXPECT_ERROR(cudaMalloc(&memory, std::size_t{9} << 20), cudaErrorMemoryAllocation);
              EXPECT(memory == nullptr);
              EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
              EXPECT_OK(cudaGetLastError());
              EXPECT_OK(cudaMalloc(&memory, std::size_t{6} << 20));
              EXPECT_OK(cudaMemGetInfo(&free, &total));
              EXPECT(total == std::size_t{8} << 20 && free == std::size_t{2} << 20);
              void* more = nullptr;
              EXPECT_ERROR(cudaMalloc(&more, std::size_t{3} << 20), cudaErrorMemoryAllocation);
              EXPECT_OK(cudaFree(memory));
              EXPECT_OK(cudaMalloc(&more, std::size_t{3} << 20));
            },
            {{"FAKE_GPU_MEMORY_MIB", "8"}}) == "");
}
