// Memory that is set aside at the start, to be given back when no more is to be had: what is then left to do,
// telling of it and leaving, needs some itself.
#pragma once

#include <cstddef>

namespace lockstep {

class MemoryReserve {
 public:
  // Address space only: pages that nobody touches cost nothing. Holds nothing where even that cannot be had.
  explicit MemoryReserve(std::size_t bytes);
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  void give_back();

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace lockstep
