// CudaDevice on the fake GPU: memory, copies and their order, and what it says where it cannot be had. Its
// operations are tested with those of other devices (test/unit/device_ops_*.cpp).
#include "device/cuda/cuda_device.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "core/clock.h"
#include "core/error.h"
#include "device/cuda/gpus.h"
#include "device/cuda/resources.h"
#include "stream.h"

using Catch::Matchers::Contains;
using lockstep::Error;
using lockstep::device::CudaDevice;
using lockstep::device::DType;
using lockstep::device::Stopwatch;
using lockstep::device::Tensor;
using lockstep::device::cuda::Event;
using lockstep::device::cuda::Stream;

namespace {

std::vector<float> numbers(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<float> to_host(CudaDevice& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  device.download(tensor, values);
  return values;
}

void expect_numbers(CudaDevice& device, const Tensor& tensor, float first) {
  EXPECT(to_host(device, tensor) == numbers(static_cast<std::size_t>(tensor.count()), first));
}

// What opening a device says, with its exit code.
std::string refusal(const Settings& settings) {
  return complaints_of(
      [] {
        std::string reason;
        if (lockstep::device::cuda::find_gpus(reason).empty()) {
          std::fprintf(stderr, "none: %s\n", reason.c_str());
          std::exit(1);
        }
        try {
          const CudaDevice device(0);
        } catch (const Error& error) {
          std::fprintf(stderr, "%d: %s\n", static_cast<int>(error.code()), error.what());
          std::exit(1);
        }
      },
      settings);
}

}  // namespace

TEST_CASE("copies to and from a GPU", "[cuda]") {
  CHECK(complaints_of([] {
          CudaDevice device(0);
          // Larger than the memory that copies go through, and not a multiple of anything.
          constexpr std::size_t large = (11 << 20) / sizeof(float) + 3;
          const Tensor x = device.empty({static_cast<std::int64_t>(large)});
          std::vector<float> host = numbers(large, 1);
          device.upload(host, x);
          host.assign(large, -1);  // it is the device's by now
          expect_numbers(device, x, 1);
          // The memory that copies go through is full while the GPU has something else to do.
          host = numbers(large, 2);
          const Tensor slow = device.zeros({1 << 24});
          device.relu_forward(slow, slow);
          device.upload(host, x);
          expect_numbers(device, x, 2);
          // Many small ones that nobody waits for.
          std::vector<Tensor> many;
          for (int i = 0; i < 300; ++i) {
            device.upload(numbers(1000, static_cast<float>(i)), many.emplace_back(device.empty({1000})));
          }
          for (int i = 0; i < 300; ++i)
            expect_numbers(device, many[static_cast<std::size_t>(i)], static_cast<float>(i));
        }) == "");
}

TEST_CASE("batches are sent ahead of their use, in the right order", "[cuda]") {
  const auto body = [] {
    CudaDevice device(0);
    std::vector<Tensor> sent;
    std::vector<Tensor> copies;
    constexpr std::int64_t count = 5000;
    for (int i = 0; i < 20; ++i) {
      // Two are ahead of the one that is used; memory that has been used is used again.
      sent.push_back(device.send(numbers(count, static_cast<float>(i)), {count}));
      if (sent.size() < 3) continue;
      device.receive(sent.front());
      device.receive(sent.front());
      device.copy(sent.front(), copies.emplace_back(device.empty({count})));
      sent.erase(sent.begin());
    }
    for (std::size_t i = 0; i < copies.size(); ++i) expect_numbers(device, copies[i], static_cast<float>(i));
    sent.clear();  // sent in vain
    const Tensor larger = device.send(numbers(3 * count / 2, 7), {3 * count / 2});
    // What comes next gets the memory of those that were sent in vain, whose copies may still be under way.
    const Tensor next = device.zeros({count});
    device.receive(larger);
    expect_numbers(device, larger, 7);
    EXPECT(to_host(device, next) == std::vector<float>(count, 0.f));
    const std::vector<std::int64_t> labels{3, 1};
    const Tensor label = device.send(labels, {2});
    EXPECT(label.dtype() == DType::i64);
  };
  CHECK(complaints_of(body) == "");
  CHECK(complaints_of(body, {{"FAKE_GPU_ORDER", "reverse"}}) == "");
}

TEST_CASE("what was sent may not be used before it is received", "[cuda]") {
  CHECK_THAT(death_of([] {
               CudaDevice device(0);
               const Tensor sent = device.send(numbers(8, 0), {8});
               device.copy(sent, device.empty({8}));
             }),
             Contains("fake GPU"));
}

TEST_CASE("a stopwatch takes the time for which the GPU waits, once it is over", "[cuda]") {
  const auto body = [] {
    CudaDevice device(0);
    const auto watch = device.make_stopwatch();
    const Stream other;
    const Event open, marker;
    constexpr double least = 0.02;
    for (int step = 0; step < 2; ++step) {
      watch->restart();
      const double before = lockstep::monotonic_seconds();
      std::atomic<bool> gate = false;
      EXPECT(fake_gpu::enqueue(other.get(), "a gate", {}, [&gate] { return gate.load(); }) == cudaSuccess);
      open.record(other);
      for (int wait = 0; wait < 2; ++wait) {  // of which the second finds the gate open
        const Stopwatch::Stretch stretch(*watch);
        if (wait == 0) {
          marker.record(device.stream());
          while (!marker.done()) std::this_thread::yield();
        }
        EXPECT(cudaStreamWaitEvent(device.stream(), open.get(), 0) == cudaSuccess);
      }
      // From here on the GPU is known to wait; the caller is not, and knows no time yet.
      const double begin = lockstep::monotonic_seconds();
      EXPECT(watch->seconds() == 0);
      while (lockstep::monotonic_seconds() < begin + least) std::this_thread::yield();
      gate = true;
      device.synchronise();
      const double seconds = watch->seconds();
      EXPECT(seconds > 0.999 * least);
      EXPECT(seconds < lockstep::monotonic_seconds() - before);
      EXPECT(watch->seconds() == seconds);
    }
    watch->start();  // and never stopped
    watch->restart();
    watch->start();
    watch->restart();
    device.synchronise();
    EXPECT(watch->seconds() == 0);
  };
  CHECK(complaints_of(body) == "");
  CHECK(complaints_of(body, {{"FAKE_GPU_ORDER", "reverse"}}) == "");
}

TEST_CASE("a stopwatch whose events fail stands still, and nothing else happens", "[cuda]") {
  CHECK(complaints_of(
            [] {
              CudaDevice device(0);
              const auto watch = device.make_stopwatch();
              for (int i = 0; i < 3; ++i) {
                const Stopwatch::Stretch stretch(*watch);
              }
              device.synchronise();
              EXPECT(watch->seconds() == 0);
              expect_numbers(device, device.zeros({1}), 0);
            },
            {{"FAKE_GPU_FAULT", "cudaEventElapsedTime:1:cudaErrorInvalidValue"}}) == "");
}

TEST_CASE("tensors outlive their GPU", "[cuda]") {
  CHECK(complaints_of([] {
          Tensor kept;
          Tensor sent;
          {
            CudaDevice device(0);
            kept = device.empty({100});
            sent = device.send(numbers(8, 0), {8});
          }
        }) == "");
}

TEST_CASE("a GPU's memory is one allocation, and tells when it is used up", "[cuda]") {
  const auto body = [] {
    CudaDevice device(0, 0.5);
    static constexpr lockstep::device::MemoryPurpose images{"images", "use fewer images"};
    const lockstep::device::MemoryUse use(device, images);
    std::vector<Tensor> held;
    try {
      while (held.size() < 100) held.push_back(device.empty({1 << 20}));
    } catch (const Error& error) {
      std::fprintf(stderr, "%zu held; %d: %s\n", held.size(), static_cast<int>(error.code()), error.what());
      held.clear();
      held.push_back(device.empty({15 << 20}));
      std::exit(1);
    }
  };
  // The second allocation of device memory would fail.
  const std::string said = complaints_of(
      body, {{"FAKE_GPU_MEMORY_MIB", "128"}, {"FAKE_GPU_FAULT", "cudaMalloc:2:cudaErrorUnknown"}});
  CHECK_THAT(
      said,
      Contains("16 held; 78: out of memory: 4.0 MiB more for images do not fit into this process's part "
               "of the GPU's memory (64.0 MiB); 64.0 MiB in use: images 64.0 MiB; use fewer images"));
}

TEST_CASE("whoever waits for a GPU can be called off", "[cuda]") {
  CHECK_THAT(complaints_of(
                 [] {
                   CudaDevice device(0);
                   const Tensor x = device.empty({4});
                   int turns = 0;
                   device.set_monitor([&turns] {
                     if (++turns > 300) throw Error(lockstep::ExitCode::peer_failed, "rank 3 is late");
                   });
                   device.fill(1.f, x);
                   try {
                     device.synchronise();
                   } catch (const Error& error) {
                     std::fprintf(stderr, "%s\n", error.what());
                     std::quick_exit(1);
                   }
                 },
                 {{"FAKE_GPU_FAULT", "cudaEventRecord:1:stall"}}),
             Contains("rank 3 is late"));
}

TEST_CASE("GPUs that cannot be had", "[cuda]") {
  CHECK(refusal({}) == "");
  CHECK_THAT(refusal({{"FAKE_GPU_DRIVER", "0"}}), Contains("none: this node has no NVIDIA driver"));
  CHECK_THAT(
      refusal({{"FAKE_GPU_DRIVER", "12040"}}),
      Contains("none: the NVIDIA driver of this node is made for CUDA 12.4, and this Lockstep for CUDA ") &&
          Contains("update the driver, or build Lockstep with CUDA 12"));
  CHECK_THAT(refusal({{"CUDA_VISIBLE_DEVICES", ""}}),
             Contains("none: CUDA sees no GPU (CUDA_VISIBLE_DEVICES is ''): ask Slurm for them"));
  CHECK_THAT(
      refusal({{"FAKE_GPU_CAPABILITY", "7.5"}}),
      Catch::StartsWith("78: the GPU (Fake GPU, compute capability 7.5) is too old: Lockstep needs compute "
                        "capability 8.0 (A100) or later; use another GPU, or set train.device = cpu\n"));
  CHECK_THAT(
      refusal({{"FAKE_GPU_FAULT", "cudaLaunchKernel:1:cudaErrorNoKernelImageForDevice"}}),
      Contains("78: this Lockstep has no machine code for the GPU (Fake GPU, compute capability 9.0): it "
               "was built for ") &&
          Contains("; build it with CUDA_ARCHS=\"90 "));
  CHECK_THAT(
      refusal({{"FAKE_GPU_CAPABILITY", "12.0"},
               {"FAKE_GPU_FAULT", "cudaLaunchKernel:1:cudaErrorUnsupportedPtxVersion"}}),
      Contains("78: ") && Contains(", and the driver is too old for its PTX: update the driver, or build "
                                   "it with CUDA_ARCHS=\"120 "));
  CHECK_THAT(refusal({{"FAKE_GPU_FAULT", "cudaSetDevice:1:cudaErrorDevicesUnavailable"}}),
             Contains("70: GPU 0 of those that this process sees is taken: it is in exclusive mode"));
  CHECK_THAT(
      refusal({{"FAKE_GPU_FAULT", "cudaMalloc:1:cudaErrorMemoryAllocation"}}),
      Contains("78: ") && Contains("of the GPU's memory cannot be had") && Contains("train.device_memory"));
  CHECK_THAT(refusal({{"FAKE_GPU_FAULT", "cudaStreamSynchronize:1:cudaErrorECCUncorrectable"}}),
             Contains("76: ") && Contains("dmesg"));
}

TEST_CASE("GPUs are known by a name of their own", "[cuda]") {
  const auto print = [] {
    std::string reason;
    for (const auto& gpu : lockstep::device::cuda::find_gpus(reason)) {
      std::printf("%s %s\n", gpu.id.c_str(), gpu.address.c_str());
    }
    const CudaDevice device(0);
    std::printf("%s\n", device.description().c_str());
  };
  CHECK_THAT(complaints_of(print, {{"CUDA_VISIBLE_DEVICES", "1,0"}}),
             Contains("GPU-fa4e0000-0000-4000-8000-000000000001 0000:2a:00.0\n"
                      "GPU-fa4e0000-0000-4000-8000-000000000000 0000:1a:00.0\n"
                      "cuda Fake GPU sm_90 driver "));
  const std::string slice = "MIG-fa4e0000-0000-4000-8000-000000000002";
  CHECK_THAT(complaints_of(print, {{"FAKE_GPU_MIG", "1"}, {"CUDA_VISIBLE_DEVICES", slice}}),
             Contains(slice + " 0000:3a:00.0\ncuda Fake GPU MIG"));
}
