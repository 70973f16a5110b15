#include "core/cpus.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep {

std::optional<CpuSet> usable_cpu_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Of more CPUs than the set holds the kernel tells nothing.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::nullopt;
  CpuSet usable;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) usable.set(cpu, CPU_ISSET(cpu, &set) != 0);
  return usable;
}

int usable_cpus() {
  const auto usable = usable_cpu_set();
  const int known =
      usable ? static_cast<int>(usable->count()) : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, known);
}

}  // namespace lockstep
