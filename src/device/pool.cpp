#include "device/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace lockstep::device {

namespace {

constexpr MemoryPurpose other{"other tensors", "use a smaller model or train.micro_batch"};

// Four classes per power of two: at most a quarter is wasted, and a last, shorter batch finds a block that a
// full one left.
std::size_t class_of(std::size_t bytes) {
  constexpr std::size_t smallest = 256;
  if (bytes <= smallest) return smallest;
  const std::size_t quarter = std::bit_floor(bytes - 1) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

std::string text_of(std::size_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

}  // namespace

std::shared_ptr<Pool> Pool::create(Allocate allocate, Release release, PoolOptions options) {
  return std::shared_ptr<Pool>(new Pool(std::move(allocate), std::move(release), std::move(options)));
}

Pool::Pool(Allocate allocate, Release release, PoolOptions options)
    : allocate_(std::move(allocate)),
      release_(std::move(release)),
      options_(std::move(options)),
      purpose_(&other) {}

Pool::~Pool() {
  release_idle();
}

std::shared_ptr<void> Pool::take(std::size_t bytes) {
  const std::size_t size = options_.keep_blocks ? class_of(bytes) : bytes;
  void* address = nullptr;
  const MemoryPurpose* purpose = nullptr;
  {
    const std::lock_guard lock(mutex_);
    purpose = purpose_;
    address = take_locked(size);
    if (address == nullptr) {
      // Blocks of other sizes may be what is missing.
      release_idle();
      address = take_locked(size);
    }
    if (address == nullptr) throw Error(ExitCode::bad_config, shortage(bytes));
    in_use_[purpose] += size;
  }
  return {address,
          [pool = shared_from_this(), size, purpose](void* block) { pool->give_back(block, size, purpose); }};
}

void* Pool::take_locked(std::size_t size) {
  if (!options_.keep_blocks) return allocate_(size);
  std::vector<void*>& idle = idle_[size];
  if (!idle.empty()) {
    void* address = idle.back();
    idle.pop_back();
    return address;
  }
  // Room for every block of this size, so that giving one back never allocates (and never throws).
  idle.reserve(idle.capacity() + 1);
  void* address = allocate_(size);
  if (address == nullptr) return nullptr;
  ++system_allocations_;
  bytes_held_ += size;
  return address;
}

void Pool::give_back(void* address, std::size_t size, const MemoryPurpose* purpose) noexcept {
  const std::lock_guard lock(mutex_);
  in_use_.find(purpose)->second -= size;
  if (options_.keep_blocks) {
    idle_.find(size)->second.push_back(address);
  } else {
    release_(address);
  }
}

void Pool::release_idle() {
  for (auto& [size, blocks] : idle_) {
    for (void* block : blocks) release_(block);
    bytes_held_ -= size * blocks.size();
    blocks.clear();
  }
}

const MemoryPurpose* Pool::set_purpose(const MemoryPurpose* purpose) {
  const std::lock_guard lock(mutex_);
  return std::exchange(purpose_, purpose);
}

std::vector<Pool::Use> Pool::uses() const {
  const std::lock_guard lock(mutex_);
  return uses_locked();
}

std::vector<Pool::Use> Pool::uses_locked() const {
  std::vector<Use> uses;
  for (const auto& [purpose, bytes] : in_use_) {
    if (bytes > 0) uses.push_back({purpose->name, bytes});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.bytes > b.bytes; });
  return uses;
}

std::string Pool::shortage(std::size_t bytes) const {
  std::string parts;
  std::size_t total = 0;
  for (const Use& use : uses_locked()) {
    total += use.bytes;
    parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", use.purpose, text_of(use.bytes));
  }
  return fmt::format("out of memory: {} more for {} do not fit into {}{}; {} in use{}; {}", text_of(bytes),
                     purpose_->name, options_.place,
                     options_.capacity > 0 ? fmt::format(" ({})", text_of(options_.capacity)) : "",
                     text_of(total), parts, purpose_->remedy);
}

std::int64_t Pool::system_allocations() const {
  const std::lock_guard lock(mutex_);
  return system_allocations_;
}

std::size_t Pool::bytes_held() const {
  const std::lock_guard lock(mutex_);
  return bytes_held_;
}

}  // namespace lockstep::device
