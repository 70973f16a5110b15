#include "core/process_exit.h"

#include <unistd.h>

#include <system_error>
#include <thread>

namespace lockstep {

void exit_within(std::chrono::seconds limit, ExitCode code) {
  try {
    std::thread([limit, code] {
      std::this_thread::sleep_for(limit);
      ::_exit(static_cast<int>(code));
    }).detach();
  } catch (const std::system_error&) {
    // Where no thread can be had, the last steps go unguarded: better than none.
  }
}

}  // namespace lockstep
