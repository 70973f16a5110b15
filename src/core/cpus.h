#pragma once

namespace lockstep {

// The CPUs that this process may run on: what taskset, mpirun or Slurm has bound it to. At least 1.
int usable_cpus();

}  // namespace lockstep
