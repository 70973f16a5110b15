#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "core/error.h"
#include "device/arena.h"
#include "device/cpu/cpu_device.h"
#include "device/pool.h"

using Catch::Matchers::Contains;
using Catch::Matchers::Message;
using lockstep::Error;
using lockstep::ExitCode;
using namespace lockstep::device;

namespace {

thread_local bool may_allocate = true;

// While it lives, this thread gets no memory from the heap.
class NoAllocation {
 public:
  NoAllocation() { may_allocate = false; }
  ~NoAllocation() { may_allocate = true; }
  NoAllocation(const NoAllocation&) = delete;
  NoAllocation& operator=(const NoAllocation&) = delete;
};

}  // namespace

// AddressSanitizer's own would not go with the `delete` here.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return may_allocate ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
}

void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("an arena takes the smallest gap and joins what comes back", "[device]") {
  alignas(256) static std::byte memory[16 * 256];
  Arena arena(memory, sizeof memory + 100);
  void* const a = arena.take(1);
  void* const b = arena.take(1000);
  void* const c = arena.take(256);
  void* const d = arena.take(0);
  CHECK(a == memory);
  CHECK(b == memory + 256);
  CHECK(c == memory + 5 * 256);
  CHECK(d == memory + 6 * 256);
  CHECK(arena.largest_gap() == 9 * 256);
  arena.give_back(a);
  CHECK(arena.take(9 * 256 + 1) == nullptr);
  CHECK(arena.take(200) == a);
  arena.give_back(b);
  arena.give_back(d);
  CHECK(arena.largest_gap() == 10 * 256);
  CHECK(arena.take(4 * 256) == b);
  arena.give_back(a);
  arena.give_back(c);
  arena.give_back(b);
  CHECK(arena.largest_gap() == 16 * 256);
  CHECK(arena.take(16 * 256) == memory);
}

TEST_CASE("an arena gives back without allocating, and forgets nothing where the host is out of memory",
          "[device]") {
  alignas(256) static std::byte memory[8 * 256];
  Arena arena(memory, sizeof memory);
  void* const a = arena.take(256);
  void* const b = arena.take(256);
  void* const c = arena.take(256);
  bool refused = false;
  {
    const NoAllocation here;
    arena.give_back(a);
    arena.give_back(c);  // with the gap behind it
    try {
      arena.take(256);  // a
      arena.take(256);  // the first part of what is left
    } catch (const std::bad_alloc&) {
      refused = true;
    }
  }
  CHECK(refused);
  CHECK(arena.largest_gap() == 6 * 256);
  arena.give_back(a);
  {
    const NoAllocation here;
    arena.give_back(b);  // with the gaps on both sides
  }
  CHECK(arena.largest_gap() == 8 * 256);
}

TEST_CASE("blocks of an arena never overlap, and all of it is there in the end", "[device]") {
  constexpr std::size_t units = 64;
  alignas(256) static std::byte memory[units * 256];
  Arena arena(memory, sizeof memory);
  std::mt19937 random(7);
  struct Block {
    std::size_t first, count;
  };
  std::vector<Block> blocks;
  std::vector<bool> taken(units, false);
  for (int turn = 0; turn < 2000; ++turn) {
    if (random() % 2 == 0) {
      const std::size_t count = 1 + random() % 9;
      auto* const at = static_cast<std::byte*>(arena.take(count * 256 - random() % 256));
      if (at == nullptr) continue;
      const auto first = static_cast<std::size_t>(at - memory) / 256;
      bool free = true;
      for (std::size_t i = first; i < first + count; ++i) {
        free = free && !taken[i];
        taken[i] = true;
      }
      REQUIRE(free);
      blocks.push_back({first, count});
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      const Block block = blocks.back();
      blocks.pop_back();
      for (std::size_t i = block.first; i < block.first + block.count; ++i) taken[i] = false;
      arena.give_back(memory + block.first * 256);
    }
  }
  for (const Block& block : blocks) arena.give_back(memory + block.first * 256);
  CHECK(arena.largest_gap() == sizeof memory);
}

TEST_CASE("memory that runs out is told by what it is used for", "[device]") {
  CpuDevice device(1);
  constexpr MemoryPurpose weights{"weights", "use a smaller model"};
  constexpr MemoryPurpose images{"images", "use fewer images"};
  const MemoryUse all(device, weights);
  const Tensor weight = device.empty({1 << 18});
  {
    const MemoryUse inner(device, images);
    const Tensor image = device.empty({1 << 19});
    const auto uses = device.pool().uses();
    REQUIRE(uses.size() == 2);
    CHECK(uses[0].purpose == "images");
    CHECK(uses[0].bytes == 2 << 20);
    CHECK(uses[1].purpose == "weights");
    CHECK(uses[1].bytes == 1 << 20);
  }
  CHECK(device.pool().uses().size() == 1);
  CHECK_THROWS_MATCHES(
      device.empty({std::int64_t{1} << 50}), Error,
      Message("out of memory: 4096.0 TiB more for weights do not fit into the host's memory; "
              "1.0 MiB in use: weights 1.0 MiB; use a smaller model"));
}

TEST_CASE("idle blocks of other sizes make room before a pool gives up", "[device]") {
  std::size_t left = 1 << 20;
  std::map<void*, std::size_t> sizes;
  const auto pool = Pool::create(
      [&](std::size_t bytes) -> void* {
        if (bytes > left) return nullptr;
        left -= bytes;
        void* address = std::malloc(bytes);
        sizes[address] = bytes;
        return address;
      },
      [&](void* address) {
        left += sizes[address];
        std::free(address);
      },
      {"a test's memory", 1 << 20, true});
  const auto small = pool->take(1000);
  pool->take(600 << 10);
  CHECK(left < 600 << 10);
  const auto large = pool->take(800 << 10);
  CHECK(large != nullptr);
  try {
    pool->take(400 << 10);
    FAIL("there was memory");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_config);
    CHECK_THAT(error.what(),
               Contains("400.0 KiB more for other tensors do not fit into a test's memory (1.0 MiB)"));
  }
}
