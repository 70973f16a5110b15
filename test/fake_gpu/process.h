// All that the fake GPU knows of this process.
#pragma once

#include "devices.h"
#include "faults.h"
#include "runtime.h"

namespace fake_gpu {

struct Process {
  Faults faults;
  Devices devices;
  Runtime runtime;
};

// Made at the first call.
Process& process();

// For a test's child process, which has its parent's memory but not its device's thread: forgets all, and
// reads the environment again.
void start_afresh();

}  // namespace fake_gpu
