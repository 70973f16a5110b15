#include "device/pool.h"

#include <bit>
#include <utility>

namespace lockstep::device {

namespace {

// Four classes per power of two: at most a quarter is wasted, and a last, shorter batch finds a block that a
// full one left.
std::size_t class_of(std::size_t bytes) {
  constexpr std::size_t smallest = 256;
  if (bytes <= smallest) return smallest;
  const std::size_t quarter = std::bit_floor(bytes - 1) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}

}  // namespace

std::shared_ptr<Pool> Pool::create(Allocate allocate, Release release) {
  return std::shared_ptr<Pool>(new Pool(std::move(allocate), std::move(release)));
}

Pool::Pool(Allocate allocate, Release release)
    : allocate_(std::move(allocate)), release_(std::move(release)) {}

Pool::~Pool() {
  for (const auto& [size_class, blocks] : free_) {
    for (void* block : blocks) release_(block);
  }
}

std::shared_ptr<void> Pool::take(std::size_t bytes) {
  const std::size_t size_class = class_of(bytes);
  void* address = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& idle = free_[size_class];
    if (idle.empty()) {
      // Room for every block of this class, so that giving one back never allocates (and never throws).
      idle.reserve(idle.capacity() + 1);
      address = allocate_(size_class);
      ++system_allocations_;
      bytes_held_ += size_class;
    } else {
      address = idle.back();
      idle.pop_back();
    }
  }
  return {address,
          [pool = shared_from_this(), size_class](void* block) { pool->give_back(block, size_class); }};
}

void Pool::give_back(void* address, std::size_t size_class) noexcept {
  const std::lock_guard lock(mutex_);
  free_.find(size_class)->second.push_back(address);
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
