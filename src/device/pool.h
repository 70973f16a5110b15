// Device memory for tensors. Blocks that were given back are kept by size: after the first step of a run
// every buffer comes from here, and malloc is not asked again. Where blocks come from an arena, it keeps them
// itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_use.h"

namespace lockstep::device {

struct PoolOptions {
  std::string place = "the host's memory";  // for errors
  std::size_t capacity = 0;                 // bytes that there are in all; 0: not known
  bool keep_blocks = true;
};

// Thread-safe. A block keeps its pool alive, so tensors may outlive their device.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  using Allocate = std::function<void*(std::size_t bytes)>;  // null when there is no memory
  using Release = std::function<void(void* address)>;

  static std::shared_ptr<Pool> create(Allocate allocate, Release release, PoolOptions options = {});
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // At least `bytes` of memory with undefined contents; goes back to the pool with its last owner. Throws
  // Error(bad_config) where there is not enough, which tells what the memory is used for.
  std::shared_ptr<void> take(std::size_t bytes);

  // What the blocks taken from now on are for; returns what they were for before. See MemoryUse.
  const MemoryPurpose* set_purpose(const MemoryPurpose* purpose);
  // The blocks that are not idle, most bytes first.
  struct Use {
    std::string_view purpose;
    std::size_t bytes;
  };
  std::vector<Use> uses() const;

  // How often memory had to be asked from the system so far, and how much of it is held.
  std::int64_t system_allocations() const;
  std::size_t bytes_held() const;

 private:
  Pool(Allocate allocate, Release release, PoolOptions options);
  void* take_locked(std::size_t size);
  void give_back(void* address, std::size_t size, const MemoryPurpose* purpose) noexcept;
  void release_idle();
  std::vector<Use> uses_locked() const;
  std::string shortage(std::size_t bytes) const;

  Allocate allocate_;
  Release release_;
  PoolOptions options_;
  mutable std::mutex mutex_;
  const MemoryPurpose* purpose_;
  std::map<const MemoryPurpose*, std::size_t> in_use_;  // bytes
  std::map<std::size_t, std::vector<void*>> idle_;      // by size
  std::int64_t system_allocations_ = 0;
  std::size_t bytes_held_ = 0;
};

}  // namespace lockstep::device
