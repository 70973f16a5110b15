// Kernels: how they are queued, and what they ask of the processor.
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "block.h"
#include "call.h"
#include "process.h"
#include "registers.h"
#include "settings.h"
#include "stream.h"

namespace fake_gpu {

namespace {

constexpr unsigned most_threads = 1024;
constexpr unsigned most_rows = 65535;
constexpr std::size_t most_shared_bytes = 48 * 1024;
// The first generation that the product's kernels are built for.
constexpr int oldest_major = 8;

// Before a kernel that is slow runs; other streams go on meanwhile.
struct Delay {
  std::chrono::milliseconds time{0};
  std::optional<std::chrono::steady_clock::time_point> begin = std::nullopt;

  bool over() {
    const auto now = std::chrono::steady_clock::now();
    if (!begin) {
      begin = now;
    }
    return now - *begin >= time;
  }
};

Block& running(const char* what) {
  Block* const block = registers().running;
  if (block == nullptr) {
    die(std::string(what) + " outside a kernel");
  }
  return *block;
}

}  // namespace

BuiltIns built_ins;

Registers& registers() {
  static Registers registers;
  return registers;
}

void* dynamic_shared_memory() {
  return registers().shared.data();
}

void synchronise_block() {
  running("__syncthreads").wait_for_block();
}

unsigned long long shuffle_down(unsigned mask, unsigned long long value, unsigned distance) {
  return running("__shfl_down_sync").wait_for_warp(Block::Exchange::down, mask, value, distance);
}

unsigned long long shuffle_xor(unsigned mask, unsigned long long value, unsigned lanes) {
  return running("__shfl_xor_sync").wait_for_warp(Block::Exchange::by_xor, mask, value, lanes);
}

unsigned long long shuffle_from(unsigned mask, unsigned long long value, unsigned lane) {
  return running("__shfl_sync").wait_for_warp(Block::Exchange::from, mask, value, lane);
}

void synchronise_warp(unsigned mask) {
  running("__syncwarp").wait_for_warp(Block::Exchange::none, mask, 0, 0);
}

void run_grid(const std::string& kernel, Blocks blocks, unsigned threads, std::size_t shared_bytes,
              const std::function<void()>& body) {
  static Stacks stacks;
  Registers& state = registers();
  Block block(kernel, threads, body, stacks);
  state.running = &block;
  built_ins.block_size = {threads, 1, 1};
  built_ins.grid_size = {blocks.x, blocks.y, 1};
  const bool reverse = reverse_order();
  const unsigned count = blocks.x * blocks.y;
  for (unsigned turn = 0; turn < count; ++turn) {
    const unsigned number = reverse ? count - 1 - turn : turn;
    built_ins.block = {number % blocks.x, number / blocks.x, 0};
    state.shared.assign((shared_bytes + sizeof(double) - 1) / sizeof(double),
                        from_bits<double>(0xCDCDCDCDCDCDCDCDULL));
    block.run();
  }
  state.running = nullptr;
}

cudaError_t launch(const char* name, Blocks blocks, unsigned threads, std::size_t shared_bytes,
                   cudaStream_t stream, std::vector<Access> accesses, std::function<void()> body) {
  const cudaError_t result = call("cudaLaunchKernel", Needs::device, [&](Runtime& runtime) {
    if (blocks.x == 0 || blocks.y == 0 || blocks.x > 0x7fffffffU || blocks.y > most_rows || threads == 0 ||
        threads > most_threads || shared_bytes > most_shared_bytes) {
      return cudaErrorInvalidConfiguration;
    }
    if (process().devices.major() < oldest_major) {
      return cudaErrorNoKernelImageForDevice;
    }
    cudaError_t fault = cudaSuccess;
    Delay delay;
    if (std::string text; fault_due(name, text)) {
      if (text == "stall") {
        runtime.stall();
      } else if (const auto time = delay_of(text)) {
        delay.time = *time;
      } else {
        fault = error_named(text);
      }
    }
    const std::string kernel = name;
    return runtime.enqueue(
        stream, kernel, accesses,
        [kernel, blocks, threads, shared_bytes, delay, body = std::move(body)]() mutable {
          if (!delay.over()) {
            return false;
          }
          run_grid(kernel, blocks, threads, shared_bytes, body);
          return true;
        },
        fault);
  });
  // As a program sees it that asks cudaGetLastError() after a launch: also what an earlier call has left
  // there.
  const cudaError_t last = forget_last_error();
  return result != cudaSuccess ? result : last;
}

}  // namespace fake_gpu
