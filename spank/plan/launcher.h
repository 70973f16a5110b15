// What a task starts: a program, or a launcher that starts ranks of its own.
#pragma once

#include <span>
#include <string>

namespace lockstep::spank {

enum class Launcher {
  none,      // a program: the task is the rank
  shell,     // a shell or a script of one: it may start either
  torchrun,  // torchrun, python -m torch.distributed.run: reads PET_* as defaults of its options
  other,     // mpirun, accelerate, deepspeed, ...: sets RANK and the like for its children
};

// Looks through env, numactl, nice, timeout and their like, and through containers and profilers, to the
// program.
Launcher launcher_of(std::span<const std::string> command);

// The daemon that mpirun starts on the other nodes of its job. Its ranks would have what the first node's
// have not: there mpirun starts them itself.
bool is_mpi_daemon(std::span<const std::string> command);

}  // namespace lockstep::spank
