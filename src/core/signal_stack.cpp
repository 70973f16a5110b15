#include "core/signal_stack.h"

#include <signal.h>

#include <array>
#include <cstddef>

#include "core/error.h"

namespace lockstep {

namespace {

// A frame takes up to 11 KiB with AMX; backtrace() needs some more.
constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

}  // namespace

void use_signal_stack() {
  // As long-lived as the thread: the kernel keeps the address.
  alignas(64) thread_local std::array<std::byte, stack_bytes> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  if (::sigaltstack(&stack, nullptr) != 0) {
    throw Error(ExitCode::internal, "cannot give signal handlers a stack of their own");
  }
}

}  // namespace lockstep
