#include "process.h"

#include <unistd.h>

#include <memory>

namespace fake_gpu {

namespace {

// A fork does not bring the device's thread along: what belongs to it cannot be taken down there.
struct EndWhereMade {
  pid_t made_in;
  void operator()(Process* process) const {
    if (getpid() == made_in) {
      delete process;
    }
  }
};

using Holder = std::unique_ptr<Process, EndWhereMade>;

Holder make_process() {
  return {std::make_unique<Process>().release(), EndWhereMade{getpid()}};
}

// Ends, with the device's thread, when the process exits.
Holder& holder() {
  static Holder holder = make_process();
  return holder;
}

}  // namespace

Process& process() {
  return *holder();
}

void start_afresh() {
  holder() = make_process();
}

}  // namespace fake_gpu
