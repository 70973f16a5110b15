// Limits of the task that stand in NCCL's way: locked memory and /dev/shm.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "plan/concern.h"

namespace lockstep::spank {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
// RDMA pins every buffer that it moves: below this a job's first registration may already fail.
constexpr std::uint64_t enough_memlock = std::uint64_t{1} << 30;
constexpr std::uint64_t shm_per_gpu = std::uint64_t{1} << 30;

std::string words(std::uint64_t limit) {
  return limit == no_limit ? "no limit" : human_bytes(static_cast<double>(limit));
}

// The submit shell's limit travels with the job; without the variable the task keeps slurmd's own.
void lift_memlock(const Facts& facts, Settings& settings) {
  const std::uint64_t own = facts.machine.memlock_bytes;
  if (facts.step.memlock_asked_for) {
    if (!facts.machine.hcas.empty() && facts.step.memlock && *facts.step.memlock < enough_memlock) {
      settings.advise(fmt::format("--propagate carries a limit on locked memory of {}: RDMA registers more",
                                  words(*facts.step.memlock)),
                      "leave MEMLOCK out of --propagate, or raise `ulimit -l` first");
    }
  } else if (facts.step.memlock && own > 0 && *facts.step.memlock < own) {
    settings.remove(
        "SLURM_RLIMIT_MEMLOCK",
        fmt::format("the limit on locked memory that came with the job ({}) is below slurmd's ({})",
                    words(*facts.step.memlock), words(own)));
  }
  if (!facts.machine.hcas.empty() && own > 0 && own < enough_memlock) {
    settings.warn(fmt::format("slurmd's limit on locked memory is {}: RDMA registers more", words(own)),
                  "set LimitMEMLOCK=infinity in slurmd's unit file and restart slurmd");
  }
}

}  // namespace

void set_limits(const Facts& facts, Settings& settings) {
  if (!facts.machine.complete) return;
  lift_memlock(facts, settings);
  const std::size_t gpus = facts.machine.gpus().size();
  const std::uint64_t wanted = shm_per_gpu * gpus;
  if (facts.step.local_ranks > 1 && facts.machine.shm_bytes > 0 && facts.machine.shm_bytes < wanted) {
    settings.advise(
        fmt::format("/dev/shm holds {} for {} GPUs: NCCL's shared buffers and data loaders may not fit",
                    words(facts.machine.shm_bytes), gpus),
        "mount it with size=50% or more, or give the container --shm-size / --ipc=host");
  }
}

}  // namespace lockstep::spank
