#include "device/cpu/parallel.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

// From libgomp, which oneDNN brings along: its header is not where every compiler finds it.
extern "C" void omp_set_num_threads(int threads);

namespace lockstep::device::cpu {

void set_library_threads(int threads) {
  omp_set_num_threads(threads);
  // The other threads of the team are made here, with all signals blocked: generated code runs on them too,
  // and only the main thread has memory of its own for signal handlers (core/signal_stack.h).
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for_each_chunk(threads, threads, 1, [](std::int64_t, std::int64_t) {});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void for_each_chunk(int threads, std::int64_t count, std::int64_t chunk,
                    const std::function<void(std::int64_t first, std::int64_t last)>& body) {
  const std::int64_t chunks = (count + chunk - 1) / chunk;
  const int team = static_cast<int>(std::min<std::int64_t>(threads, chunks));
  if (team <= 1) {
    for (std::int64_t first = 0; first < count; first += chunk) body(first, std::min(first + chunk, count));
    return;
  }
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::int64_t i = 0; i < chunks; ++i) body(i * chunk, std::min((i + 1) * chunk, count));
}

}  // namespace lockstep::device::cpu
