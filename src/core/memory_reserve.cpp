#include "core/memory_reserve.h"

#include <sys/mman.h>

#include <utility>

namespace lockstep {

MemoryReserve::MemoryReserve(std::size_t bytes)
    : bytes_(bytes),
      memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0)) {}

MemoryReserve::~MemoryReserve() {
  give_back();
}

void MemoryReserve::give_back() {
  void* const memory = std::exchange(memory_, MAP_FAILED);
  if (memory != MAP_FAILED) ::munmap(memory, bytes_);
}

}  // namespace lockstep
