// Caches blocks of device memory by size: after the first step of a run every buffer comes from here, and
// neither malloc's nor the driver's allocator is asked again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace lockstep::device {

// Thread-safe. A block keeps its pool alive, so tensors may outlive their device.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  using Allocate = std::function<void*(std::size_t bytes)>;  // throws when there is no memory
  using Release = std::function<void(void* address)>;

  static std::shared_ptr<Pool> create(Allocate allocate, Release release);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // At least `bytes` of memory with undefined contents; goes back to the pool with its last owner.
  std::shared_ptr<void> take(std::size_t bytes);

  // How often memory had to be asked from the system so far, and how much of it is held.
  std::int64_t system_allocations() const;
  std::size_t bytes_held() const;

 private:
  Pool(Allocate allocate, Release release);
  void give_back(void* address, std::size_t size_class) noexcept;

  Allocate allocate_;
  Release release_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<void*>> free_;  // size class -> idle blocks
  std::int64_t system_allocations_ = 0;
  std::size_t bytes_held_ = 0;
};

}  // namespace lockstep::device
