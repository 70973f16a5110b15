// The user's own command that hears what becomes of a run: run.hook. It changes nothing of the run: its
// failure is a warning, and nobody waits for it but a run that has just finished.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "core/log.h"

namespace lockstep::train {

// Past it the command is killed, with all that it has started.
inline constexpr std::chrono::seconds hook_limit{60};

// What an attempt that leaves grants a command that is still at work.
inline constexpr std::chrono::seconds hook_farewell{1};

struct HookSetting {
  std::string command;  // for /bin/sh; empty: nothing ever happens
  std::filesystem::path run;
  std::string job;
  int restart = 0;
};

struct HookEvent {
  std::string name;  // start, resume, stop, requeue, finish, failure or alert
  std::int64_t step = 0;
  std::string reason;  // one line
};

// Runs the command for one event and waits for it: for `lockstep requeue`. Its output goes to the log.
void run_hook(const HookSetting& setting, const HookEvent& event, const Log& log,
              const std::stop_token& stop = {});

// Runs the command in a thread of its own, one event after the other: for rank 0 of a run.
class Hook {
 public:
  Hook(HookSetting setting, const Log& log);
  // Leaves, with what was granted. Stop signals are taken by this thread from here on: nobody else is left.
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;

  // A row of events.csv; those that are no event of the hook's are passed by. Returns at once.
  void tell(std::string_view row_name, std::int64_t step, std::string_view detail);

  // Waits until all that was told is done, at most for `patience`, and only hook_farewell longer once a stop
  // signal has come; what is not done then is killed or never begun. Nothing can be told afterwards.
  void leave(std::chrono::seconds patience);

  // What the destructor grants instead of hook_farewell.
  void grant(std::chrono::seconds patience) { patience_ = patience; }

 private:
  void work(const std::stop_token& stop);

  HookSetting setting_;
  const Log& log_;
  std::chrono::seconds patience_ = hook_farewell;
  std::mutex mutex_;  // guards the three below
  std::condition_variable_any changed_;
  std::deque<HookEvent> events_;  // the first one is at work
  bool left_ = false;
  std::jthread thread_;  // from the first event on
};

}  // namespace lockstep::train
