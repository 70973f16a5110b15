#include "core/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/files.h"

namespace lockstep {

namespace {

using Clock = std::chrono::steady_clock;

struct Actions {
  posix_spawn_file_actions_t value;
  Actions() { posix_spawn_file_actions_init(&value); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  Attributes() {
    posix_spawnattr_init(&value);
    // Blocked signals would stay blocked in the child. Ignored ones stay ignored, and that is wanted:
    // `lockstep requeue` ignores TERM for its children too.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

// Reads until end of file, `end` or a stop; true at end of file.
bool drain(int fd, std::string& output, Clock::time_point end, const std::stop_token& stop) {
  constexpr std::int64_t look_up = 100;  // milliseconds between two looks at `stop`
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || stop.stop_requested()) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, look_up)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0) output.append(buffer, static_cast<std::size_t>(got));
  }
}

// A child may close its output and stay. False where it is still there at `end`.
bool reaped_before(pid_t child, int& status, Clock::time_point end) {
  for (;;) {
    const pid_t got = ::waitpid(child, &status, WNOHANG);
    if (got == child || (got < 0 && errno != EINTR)) return true;
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                          const std::stop_token& stop) {
  CommandResult result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    result.output = std::strerror(errno);
    return result;
  }
  FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);

  Actions actions;
  posix_spawn_file_actions_adddup2(&actions.value, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, writing.get(), STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const Attributes attributes;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions.value, &attributes.value, argv.data(), environ);
  if (error != 0) {
    result.exit_code = 127;
    result.output = std::strerror(error);
    return result;
  }
  writing = FileDescriptor();

  const auto end = Clock::now() + limit;
  result.timed_out = !drain(reading.get(), result.output, end, stop);
  int status = 0;
  if (!result.timed_out) result.timed_out = !reaped_before(child, status, end);
  if (result.timed_out) {
    ::kill(child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace lockstep
