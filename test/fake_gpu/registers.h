// The built-in variables of the thread that runs.
#pragma once

#include <cstddef>
#include <vector>

#include "block.h"

namespace fake_gpu {

struct Registers {
  uint3 thread{};
  uint3 block{};
  dim3 block_size{};
  dim3 grid_size{};
  std::vector<double> shared;  // shared_memory()
  Block* running = nullptr;    // null: no kernel runs
};

// There is one processor, the device's thread; no other thread may ask.
Registers& registers();

}  // namespace fake_gpu
