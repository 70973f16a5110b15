// What the kernel that runs has beside its built-in variables.
#pragma once

#include <vector>

#include "block.h"

namespace fake_gpu {

struct Registers {
  std::vector<double> shared;  // shared_memory()
  Block* running = nullptr;    // null: no kernel runs
};

// Of the one processor, the device's thread; no other thread may ask.
Registers& registers();

}  // namespace fake_gpu
