#include "train/hook.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/subprocess.h"
#include "core/text.h"
#include "slurm/stop_signals.h"

namespace lockstep::train {

namespace {

constexpr std::size_t most_output = 64 << 10;  // bytes of one call that reach the log

// Rows of events.csv, and what the hook calls them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> names = {{{"started", "start"},
                                                                                 {"resumed", "resume"},
                                                                                 {"stopped", "stop"},
                                                                                 {"finished", "finish"},
                                                                                 {"rolled back", "alert"},
                                                                                 {"save failed", "alert"},
                                                                                 {"straggler", "alert"},
                                                                                 {"alert", "alert"}}};

// Runs "$1" so that it ends, with all that it has started, when the process that has started it is killed and
// can end nobody any more. Its own signal, as those that stop a run reach hooks too. Without setpriv(1), or
// with one that does not know of it, such a command is left alone.
constexpr const char* guarded = R"sh(
inner='trap "kill -KILL 0" PWR; /bin/sh -c "$1" & wait $!'
! setpriv --pdeathsig PWR true 2>/dev/null || exec setpriv --pdeathsig PWR /bin/sh -c "$inner" hook "$1"
exec /bin/sh -c "$1"
)sh";

std::string problem_of(const CommandResult& result, bool leaving) {
  if (result.timed_out && leaving) return "was ended, as the job leaves";
  if (result.timed_out) return fmt::format("took more than {} s and was ended", hook_limit.count());
  if (result.exit_code < 0) return "was ended by a signal";
  return fmt::format("failed with exit code {}", result.exit_code);
}

}  // namespace

void run_hook(const HookSetting& setting, const HookEvent& event, const Log& log,
              const std::stop_token& stop) {
  if (setting.command.empty()) return;
  CommandOptions options;
  options.limit = hook_limit;
  options.stop = stop;
  options.own_group = true;
  options.most_output = most_output;
  options.environment = {{"LOCKSTEP_EVENT", event.name},
                         {"LOCKSTEP_RUN_DIR", std::filesystem::absolute(setting.run).string()},
                         {"LOCKSTEP_JOB", setting.job},
                         {"LOCKSTEP_RESTART", fmt::format("{}", setting.restart)},
                         {"LOCKSTEP_STEP", fmt::format("{}", event.step)},
                         {"LOCKSTEP_REASON", event.reason}};
  const CommandResult result = run_command({"/bin/sh", "-c", guarded, "hook", setting.command}, options);
  if (const std::string_view output = trim(result.output); !output.empty()) {
    for (const std::string& line : split(output, '\n')) {
      log.info(fmt::format("run.hook ({}): {}", event.name, line));
    }
  }
  if (!result.ok()) {
    log.agreed_warning(
        fmt::format("run.hook ({}) {}", event.name, problem_of(result, stop.stop_requested())));
  }
}

// The thread below must not throw, as looking for the present folder may.
Hook::Hook(HookSetting setting, const Log& log) : setting_(std::move(setting)), log_(log) {
  setting_.run = std::filesystem::absolute(setting_.run);
}

Hook::~Hook() {
  slurm::accept_stop_signals();
  leave(patience_);
}

void Hook::tell(std::string_view row_name, std::int64_t step, std::string_view detail) {
  const auto* const known =
      std::find_if(names.begin(), names.end(), [&](const auto& each) { return each.first == row_name; });
  if (setting_.command.empty() || known == names.end()) return;
  const std::lock_guard guard(mutex_);
  if (left_) return;
  events_.push_back({std::string(known->second), step, std::string(detail)});
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  changed_.notify_all();
}

void Hook::work(const std::stop_token& stop) {
  for (;;) {
    HookEvent event;
    {
      std::unique_lock guard(mutex_);
      if (!changed_.wait(guard, stop, [this] { return !events_.empty(); }) || stop.stop_requested()) return;
      event = events_.front();
    }
    run_hook(setting_, event, log_, stop);
    const std::lock_guard guard(mutex_);
    events_.pop_front();
    changed_.notify_all();
  }
}

void Hook::leave(std::chrono::seconds patience) {
  constexpr std::chrono::milliseconds look_up{50};  // between two looks at the signals
  {
    std::unique_lock guard(mutex_);
    left_ = true;
    auto end = std::chrono::steady_clock::now() + patience;
    bool hurried = false;
    while (!events_.empty() && std::chrono::steady_clock::now() < end) {
      changed_.wait_for(guard, look_up);
      if (!hurried && slurm::received_stop_signal() != 0) {
        hurried = true;
        end = std::min(end, std::chrono::steady_clock::now() + hook_farewell);
      }
    }
  }
  thread_ = std::jthread();  // stops and joins
}

}  // namespace lockstep::train
