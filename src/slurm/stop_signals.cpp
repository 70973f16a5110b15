#include "slurm/stop_signals.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/signal_stack.h"

namespace lockstep::slurm {

namespace {

// A signal handler can reach nothing but static storage: the one place where this is not avoidable.
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void remember(int number) {
  const int saved = errno;
  int none = 0;
  first_signal.compare_exchange_strong(none, number);
  errno = saved;
}

constexpr std::array<int, 4> stop_signals = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2};

void change_mask(int how) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : stop_signals) sigaddset(&set, number);
  ::pthread_sigmask(how, &set, nullptr);
}

}  // namespace

void install_stop_signals() {
  use_signal_stack();
  struct sigaction action {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (const int number : stop_signals) {
    if (::sigaction(number, &action, nullptr) != 0) {
      throw Error(ExitCode::internal, "cannot install the handler of signal " + signal_name(number));
    }
  }
  change_mask(SIG_BLOCK);
}

void accept_stop_signals() {
  change_mask(SIG_UNBLOCK);
}

int received_stop_signal() {
  return first_signal.load();
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? name : std::to_string(number);
}

}  // namespace lockstep::slurm
