// The memory of the fake GPUs, and page-locked memory of the host.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protection.h"
#include "shadow.h"

namespace fake_gpu {

struct Allocation {
  enum Kind { device, page_locked };

  char* begin;
  std::size_t bytes;
  Kind kind;
  int device_number;  // of the device that it belongs to, or was current
  void* mapping;      // with inaccessible pages on both sides
  std::size_t mapped;
  Shadow shadow;
};

// What fresh memory and memory that is about to be written holds.
constexpr int garbage = 0xCD;

// Not thread-safe: the caller holds the runtime's lock.
class Memory {
 public:
  Memory();

  // Null where the device's memory is exhausted. Fresh memory holds garbage; its addresses are never used
  // again.
  void* allocate(std::size_t bytes, Allocation::Kind kind, int device_number);
  // Dies where there is no allocation of this kind at `address`.
  Allocation& at(void* address, Allocation::Kind kind, const std::string& call);
  void release(Allocation& allocation);

  // The allocation that `address` lies in, or null.
  Allocation* find(const void* address);
  // The allocation that holds all the bytes; dies where there is none, and says what is there instead.
  Allocation& holding(const void* address, std::size_t bytes, const std::string& what);

  // All that lives on devices.
  std::vector<std::span<const char>> on_devices() const;
  std::size_t total() const { return limit_; }
  std::size_t used(int device_number) const;

  Protection& protection() { return protection_; }

 private:
  std::size_t limit_;  // of each device
  Protection protection_;
  std::map<const char*, std::unique_ptr<Allocation>> live_;  // by first byte
  std::map<const char*, const char*> freed_;                 // first byte, end
  std::map<int, std::size_t> used_;                          // by device
};

}  // namespace fake_gpu
