#pragma once

#include <optional>

#include "core/cpu_set.h"

namespace lockstep {

// The CPUs that this process may run on: what taskset, mpirun or Slurm has bound it to. At least 1.
int usable_cpus();
// Which they are; nothing where the kernel does not tell.
std::optional<CpuSet> usable_cpu_set();

}  // namespace lockstep
