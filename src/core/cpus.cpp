#include "core/cpus.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace lockstep {

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Of more CPUs than the set holds the kernel tells nothing.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace lockstep
