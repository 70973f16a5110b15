#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "settings.h"
#include "stream.h"

namespace fake_gpu {

namespace {

// As cudaMalloc aligns.
constexpr std::size_t alignment = 256;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace

Memory::Memory() : limit_(static_cast<std::size_t>(setting("FAKE_GPU_MEMORY_MIB", 256)) << 20) {}

void* Memory::allocate(std::size_t bytes, Allocation::Kind kind, int device_number) {
  const std::size_t rounded = round_up(bytes, alignment);
  if (bytes > limit_ || (kind == Allocation::device && used(device_number) + rounded > limit_)) {
    return nullptr;
  }
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t pages = round_up(rounded, page);
  const std::size_t mapped = pages + 2 * page;
  void* mapping = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  char* const first = static_cast<char*>(mapping) + page;
  mprotect(first, pages, PROT_READ | PROT_WRITE);
  std::memset(first, garbage, pages);
  // At the end of its pages: what runs over the end is struck at once.
  char* const begin = first + pages - rounded;
  if (kind == Allocation::device) {
    protection_.add(first, pages);
    used_[device_number] += rounded;
  }
  live_.insert({begin, std::make_unique<Allocation>(
                           Allocation{begin, bytes, kind, device_number, mapping, mapped, Shadow(bytes)})});
  return begin;
}

Allocation& Memory::at(void* address, Allocation::Kind kind, const std::string& call) {
  const char* const begin = static_cast<char*>(address);
  const auto found = live_.find(begin);
  if (found == live_.end()) {
    die(call + " of " + hex(address) +
        (freed_.contains(begin) ? ", which is free already" : ", which is no allocation"));
  }
  if (found->second->kind != kind) {
    die(call + " of " + hex(address) + ", which is " +
        (kind == Allocation::device ? "page-locked" : "device") + " memory");
  }
  return *found->second;
}

void Memory::release(Allocation& allocation) {
  if (allocation.kind == Allocation::device) {
    used_[allocation.device_number] -= round_up(allocation.bytes, alignment);
    protection_.remove(static_cast<char*>(allocation.mapping) + sysconf(_SC_PAGESIZE));
  }
  // Keeps the addresses, gives the memory back.
  mmap(allocation.mapping, allocation.mapped, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  freed_[allocation.begin] = allocation.begin + allocation.bytes;
  live_.erase(allocation.begin);
}

Allocation* Memory::find(const void* address) {
  const char* const byte = static_cast<const char*>(address);
  const auto next = live_.upper_bound(byte);
  if (next == live_.begin()) {
    return nullptr;
  }
  Allocation& allocation = *std::prev(next)->second;
  return byte < allocation.begin + allocation.bytes ? &allocation : nullptr;
}

Allocation& Memory::holding(const void* address, std::size_t bytes, const std::string& what) {
  const char* const begin = static_cast<const char*>(address);
  Allocation* const allocation = find(address);
  if (allocation == nullptr) {
    const auto next = freed_.upper_bound(begin);
    const bool freed = next != freed_.begin() && begin < std::prev(next)->second;
    die(what + " uses " + std::to_string(bytes) + " bytes at " + hex(address) +
        (freed ? ": memory that was freed" : ": neither device nor page-locked memory"));
  }
  if (bytes > static_cast<std::size_t>(allocation->begin + allocation->bytes - begin)) {
    die(what + " uses " + std::to_string(bytes) + " bytes at " + hex(address) +
        ": beyond the end of an allocation of " + std::to_string(allocation->bytes) +
        " bytes, from its byte " + std::to_string(begin - allocation->begin) + " on");
  }
  return *allocation;
}

std::vector<std::span<const char>> Memory::on_devices() const {
  std::vector<std::span<const char>> ranges;
  for (const auto& [begin, allocation] : live_) {
    if (allocation->kind == Allocation::device) {
      ranges.emplace_back(begin, allocation->bytes);
    }
  }
  return ranges;
}

std::size_t Memory::used(int device_number) const {
  const auto found = used_.find(device_number);
  return found == used_.end() ? 0 : found->second;
}

}  // namespace fake_gpu
