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
#include <string_view>
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
  explicit Attributes(bool own_group) {
    posix_spawnattr_init(&value);
    // Blocked signals would stay blocked in the child. Ignored ones stay ignored, and that is wanted:
    // `lockstep requeue` ignores TERM for its children too.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setflags(
        &value, static_cast<short>(POSIX_SPAWN_SETSIGMASK | (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawnattr_setpgroup(&value, 0);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

// Reads until end of file, `end` or a stop; true at end of file.
bool drain(int fd, std::string& output, Clock::time_point end, const CommandOptions& options) {
  constexpr std::int64_t look_up = 100;  // milliseconds between two looks at `stop`
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0 || options.stop.stop_requested()) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, look_up)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0)
      output.append(buffer, std::min(static_cast<std::size_t>(got), options.most_output - output.size()));
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

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto replaced = [&](const auto& each) { return text.substr(0, text.find('=')) == each.first; };
    if (std::none_of(added.begin(), added.end(), replaced)) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) {
    result.push_back(name);
    result.back().append("=").append(value);
  }
  return result;
}

// As posix_spawn wants them; valid as long as `texts`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

CommandResult run_command(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                          const std::stop_token& stop) {
  CommandOptions options;
  options.limit = limit;
  options.stop = stop;
  return run_command(arguments, options);
}

CommandResult run_command(const std::vector<std::string>& arguments, const CommandOptions& options) {
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
  const Attributes attributes(options.own_group);
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<std::string> environment = environment_with(options.environment);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions.value, &attributes.value, argv.data(),
                                   pointers_to(environment).data());
  if (error != 0) {
    result.exit_code = 127;
    result.output = std::strerror(error);
    return result;
  }
  writing = FileDescriptor();

  const auto end = Clock::now() + options.limit;
  result.timed_out = !drain(reading.get(), result.output, end, options);
  int status = 0;
  if (!result.timed_out) result.timed_out = !reaped_before(child, status, end);
  if (result.timed_out) {
    ::kill(options.own_group ? -child : child, SIGKILL);
    // A process that a dead file system holds cannot even be killed: it is left behind.
    constexpr std::chrono::seconds dying{5};
    if (!reaped_before(child, status, Clock::now() + dying)) return result;
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace lockstep
