#include "device/cuda/device_memory.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>

#include "core/error.h"
#include "core/text.h"
#include "device/arena.h"
#include "device/cuda/check.h"

namespace lockstep::device::cuda {

namespace {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : arena_(allocate(bytes), bytes) {}
  ~DeviceMemory() { cudaFree(address_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Arena& arena() { return arena_; }

 private:
  void* allocate(std::size_t bytes) {
    check(cudaMalloc(&address_, bytes), "cudaMalloc");
    return address_;
  }

  void* address_ = nullptr;
  Arena arena_;
};

}  // namespace

std::shared_ptr<Pool> make_device_pool(double share) {
  constexpr std::size_t page = std::size_t{2} << 20;
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  const std::size_t bytes = static_cast<std::size_t>(share * static_cast<double>(free)) / page * page;
  const auto text = [](std::size_t size) { return human_bytes(static_cast<double>(size)); };
  const auto refused = [&](std::size_t wanted, const std::string& remedy) {
    return Error(ExitCode::bad_config,
                 fmt::format("{} of the GPU's memory cannot be had ({} of {} are free): does another process "
                             "use it? See nvidia-smi{}",
                             text(wanted), text(free), text(total), remedy));
  };
  constexpr std::size_t plenty = 32 * page;
  if (bytes == 0 && free >= plenty) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("train.device_memory = {} of the {} that are free on the GPU is less than {}: give it "
                    "more",
                    share, text(free), text(page)));
  }
  if (bytes == 0) throw refused(page, "");
  std::shared_ptr<DeviceMemory> memory;
  try {
    memory = std::make_shared<DeviceMemory>(bytes);
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_config) throw;
    throw refused(bytes, fmt::format(", or set train.device_memory to less than {}", share));
  }
  PoolOptions options;
  options.place = "this process's part of the GPU's memory";
  options.capacity = bytes;
  options.keep_blocks = false;
  return Pool::create([memory](std::size_t wanted) { return memory->arena().take(wanted); },
                      [memory](void* address) { memory->arena().give_back(address); }, options);
}

}  // namespace lockstep::device::cuda
