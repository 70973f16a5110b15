// What a piece of work may not change.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emulated_kernels.h"

namespace fake_gpu {

// Keeps a copy of `memory` but for what is said to be written. For the device's thread.
class Untouched {
 public:
  Untouched(const std::vector<std::span<const char>>& memory, const std::vector<Access>& accesses);

  // In words what has changed since then, or "".
  std::string change() const;

 private:
  struct Piece {
    const char* place;
    std::vector<char> bytes;
    std::span<const char> allocation;
  };

  void keep(const char* begin, const char* end, std::span<const char> allocation);

  std::vector<Piece> pieces_;
};

}  // namespace fake_gpu
