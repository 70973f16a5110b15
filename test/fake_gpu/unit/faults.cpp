// Devices that are missing, taken, old or lost; faults on demand.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "child.h"
#include "kernels.h"

using Catch::Matchers::Contains;

TEST_CASE("a fault comes at the call and on the rank that it names", "[fake_gpu]") {
  const auto third_fails = [] {
    new_device_floats(1);
    new_device_floats(1);
    void* memory = nullptr;
    EXPECT_ERROR(cudaMalloc(&memory, 4), cudaErrorMemoryAllocation);
    EXPECT_OK(cudaMalloc(&memory, 4));
  };
  CHECK(complaints_of(third_fails,
                      {{"FAKE_GPU_FAULT",
                        "cudaFree:1:cudaErrorUnknown,cudaMalloc:3:cudaErrorMemoryAllocation"}}) == "");
  const std::string on_rank_1 = "cudaMalloc:3:cudaErrorMemoryAllocation:1";
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    CHECK(complaints_of(third_fails, {{"FAKE_GPU_FAULT", on_rank_1}, {variable, "1"}}) == "");
  }
  CHECK_THAT(complaints_of(third_fails, {{"FAKE_GPU_FAULT", on_rank_1}, {"PMIX_RANK", "0"}}),
             Contains("cudaSuccess instead of cudaErrorMemoryAllocation"));
  CHECK_THAT(death_of(third_fails, {{"FAKE_GPU_FAULT", "cudaMalloc:x:cudaErrorUnknown"}}),
             Contains("is not CALL:N:ERROR"));
  CHECK_THAT(death_of(third_fails, {{"FAKE_GPU_FAULT", "cudaMalloc:1:cudaErrorFoo"}}),
             Contains("no error is called"));
}

TEST_CASE("a device that is lost stays lost", "[fake_gpu]") {
  const auto body = [] {
    const cudaStream_t stream = new_stream();
    float* const data = new_device_floats(8);
    add_in_place(data, 8, 1, stream);
    EXPECT_ERROR(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(data), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  };
  // At the call, and when the kernel runs.
  CHECK(complaints_of(body, {{"FAKE_GPU_FAULT", "cudaStreamSynchronize:1:cudaErrorIllegalAddress"}}) == "");
  CHECK(complaints_of(body, {{"FAKE_GPU_FAULT", "add_in_place_kernel:1:cudaErrorIllegalAddress"}}) == "");
}

TEST_CASE("work on a device that stalls is never done, and nothing waits for it for ever", "[fake_gpu]") {
  const Settings stall{{"FAKE_GPU_FAULT", "cudaLaunchKernel:2:stall"}};
  const auto begin = [] {
    const cudaStream_t stream = new_stream();
    float* const data = new_device_floats(8);
    EXPECT_OK(cudaMemsetAsync(data, 0, 32, stream));
    add_in_place(data, 8, 1, stream);
    EXPECT_OK(cudaStreamSynchronize(stream));
    add_in_place(data, 8, 1, stream);
    return stream;
  };
  CHECK(complaints_of(
            [&] {
              const cudaStream_t stream = begin();
              const cudaEvent_t event = new_event();
              EXPECT_OK(cudaEventRecord(event, stream));
              for (int i = 0; i < 10; ++i) {
                EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
                EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
              }
            },
            stall) == "");
  CHECK_THAT(death_of([&] { EXPECT_OK(cudaStreamSynchronize(begin())); }, stall),
             Contains("cudaStreamSynchronize would wait for ever: the device is stalled"));
}

TEST_CASE("a launch tells of an error that nobody has asked for", "[fake_gpu]") {
  CHECK_THAT(in_child({},
                      [] {
                        void* memory = nullptr;
                        EXPECT_ERROR(cudaMalloc(&memory, std::size_t{1} << 50), cudaErrorMemoryAllocation);
                        start(1, 1, new_stream());
                      })
                 .output,
             Contains("out of memory"));
}

TEST_CASE("devices are as many as there are and as the process may see", "[fake_gpu]") {
  const auto counted = [](const Settings& settings) {
    return in_child(settings,
                    [] {
                      int count = -1;
                      const cudaError_t error = cudaGetDeviceCount(&count);
                      std::exit(error == cudaSuccess ? count
                                                     : 100 + (error == cudaErrorNoDevice) +
                                                           2 * (error == cudaErrorInsufficientDriver));
                    })
        .status;
  };
  CHECK(counted({{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}}) == 4);
  CHECK(counted({{"FAKE_GPU_COUNT", "2"}, {"CUDA_VISIBLE_DEVICES", "1,0,2"}}) == 2);
  CHECK(counted({{"CUDA_VISIBLE_DEVICES", "3"}}) == 1);
  CHECK(counted({{"CUDA_VISIBLE_DEVICES", "GPU-fa4e0000-0000-4000-8000-000000000002"}}) == 1);
  CHECK(counted({{"CUDA_VISIBLE_DEVICES", ""}}) == 101);
  CHECK(counted({{"FAKE_GPU_COUNT", "0"}}) == 101);
  CHECK(counted({{"FAKE_GPU_DRIVER", "0"}}) == 102);
  CHECK(counted({{"FAKE_GPU_DRIVER", "12040"}}) == 102);
  CHECK(counted({{"FAKE_GPU_MIG", "1"}}) == 1);
}

TEST_CASE("a device says what it is", "[fake_gpu]") {
  CHECK(complaints_of(
            [] {
              cudaDeviceProp properties;
              char bus[16];
              int value = -1;
              EXPECT_OK(cudaSetDevice(1));
              EXPECT_OK(cudaGetDevice(&value));
              EXPECT(value == 1);
              EXPECT_ERROR(cudaSetDevice(2), cudaErrorInvalidDevice);
              EXPECT_OK(cudaGetDeviceProperties(&properties, 1));
              EXPECT(std::string(properties.name) == "Fake GPU");
              EXPECT(properties.major == 8 && properties.minor == 6);
              EXPECT(static_cast<unsigned char>(properties.uuid.bytes[0]) == 0xfa &&
                     properties.uuid.bytes[15] == 3);
              EXPECT_OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 1));
              EXPECT(std::string(bus) == "0000:4A:00.0");
              EXPECT_ERROR(cudaDeviceGetPCIBusId(bus, 5, 1), cudaErrorInvalidValue);
              EXPECT_OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeMode, 0));
              EXPECT(value == cudaComputeModeDefault);
            },
            {{"CUDA_VISIBLE_DEVICES", "0,3"}, {"FAKE_GPU_CAPABILITY", "8.6"}}) == "");
}

TEST_CASE("an old device has no code for our kernels", "[fake_gpu]") {
  CHECK_THAT(in_child({{"FAKE_GPU_CAPABILITY", "7.0"}}, [] { start(1, 1, new_stream()); }).output,
             Contains("compute capability 7.0) is too old"));
}

TEST_CASE("an exclusive device has one process", "[fake_gpu]") {
  char folder[] = "/tmp/fake_gpu_test_XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const Settings exclusive{{"FAKE_GPU_EXCLUSIVE", "1"}, {"TMPDIR", folder}};
  CHECK(complaints_of(
            [] {
              int status = 0;
              EXPECT_OK(cudaSetDevice(0));
              EXPECT_OK(cudaSetDevice(0));
              const pid_t second = fork();
              if (second == 0) {
                execl("/proc/self/exe", "tests", "asks for device 0", "--out", "/dev/null",
                      static_cast<char*>(nullptr));
                _exit(1);
              }
              waitpid(second, &status, 0);
              EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 7);
            },
            exclusive) == "");
  std::filesystem::remove_all(folder);
}

// In a process of its own, begun by the case above.
TEST_CASE("asks for device 0", "[.child]") {
  std::exit(cudaSetDevice(0) == cudaErrorDevicesUnavailable && cudaSetDevice(1) == cudaSuccess ? 7 : 1);
}
