#include "core/process_exit.h"

#include <unistd.h>

#include <thread>

namespace lockstep {

void exit_within(std::chrono::seconds limit, ExitCode code) {
  std::thread([limit, code] {
    std::this_thread::sleep_for(limit);
    ::_exit(static_cast<int>(code));
  }).detach();
}

}  // namespace lockstep
