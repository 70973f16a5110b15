// Contract C7: nothing hangs. Each phase of a run has a limit; past it the run says which ranks are late and
// where, dumps stacks and leaves with exit code 76. The watchdog has threads of its own, so that it also
// works while the main thread is stuck in MPI, HDF5 or the file system: one for the limits, which waits for
// nothing, and one that looks into the run folder, which may never answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "train/config.h"

namespace lockstep::train {

enum class Phase : int { start, step, eval, checkpoint, finish };

class Watchdog {
 public:
  // What the watchdog needs to know about a run once its folder is claimed.
  struct Run {
    std::filesystem::path folder;  // of the status files, one per late rank
    std::string token;             // of the attempt
    int rank = 0;
    std::vector<std::string> nodes;  // of each rank
    // Ends the process at once with an outcome: never returns, enters no collective.
    std::function<void(ExitCode, const std::string&)> leave;
    // True when this attempt's outcome is already a failure: then a stop signal means "leave now" (C5).
    std::function<bool()> failed_already;
    // True when the next rank (after the last: rank 0) exists no more; empty where that cannot be known.
    std::function<bool()> next_rank_is_gone;
    // Asks a library that knows more of the ranks, and gives the words to add to the reason; may be empty.
    std::function<std::string()> inquire;
  };

  // Before MPI is up: node and rank from the environment; the rank may change by set_rank(). Must be made on
  // the main thread: its stack is dumped.
  Watchdog(const Config::Limits& limits, std::string node, int rank);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_rank(int rank);
  // How many calls of this rank wait for peers just now: it is not itself the late one then.
  void set_waits(std::shared_ptr<const std::atomic<int>> waits);
  // See Device::waited_for_since(); null where there is nothing to tell.
  void set_device_wait(std::shared_ptr<const std::atomic<double>> since);
  void set_run(Run run);

  // The main thread says where it is. A new phase or step starts the clock again.
  void enter(Phase phase, std::int64_t step);

  // True for one thread, which then ends the process: what it finds out and tells is cut off by no other one.
  bool may_leave() { return !leaving_.exchange(true); }

  // Where the main thread is, for people: "step 12", "the checkpoint of step 12".
  std::string where() const;
  std::int64_t step() const;

 private:
  struct Place {
    Phase phase = Phase::start;
    std::int64_t step = 0;
    double since = 0;
  };
  void keep_limits(const std::stop_token& stop);
  void look_into_folder(const std::stop_token& stop);
  double limit(Phase phase) const;
  std::string reason_to_leave(const Run& run, const Place& place);
  bool has_lost_next_rank(const Run& run, const Place& place);
  bool waits_in_vain(const Run& run);
  void publish(const Run& run, const Place& place) const;
  bool waits() const;
  std::string doing(const Place& place) const;
  std::string late_ranks_if_told(const Run& run, const Place& place) const;
  static std::string note_of(const Run& run, std::size_t rank);
  std::string late_ranks(const Run& run, const Place& place) const;
  void give_up(const Place& place);

  Config::Limits limits_;
  std::string node_;
  pthread_t main_thread_;
  mutable std::mutex mutex_;  // guards rank_, place_, run_, waits_ and device_wait_
  int rank_;
  Place place_;
  std::unique_ptr<Run> run_;
  std::atomic<bool> leaving_{false};
  double missing_since_ = -1;  // of the thread that looks into the folder alone, as the next two
  double waiting_since_ = -1;
  double next_look_ = 0;
  std::shared_ptr<const std::atomic<int>> waits_;
  std::shared_ptr<const std::atomic<double>> device_wait_;
  std::jthread limits_thread_;  // ends after the other one, which may be stuck
  std::jthread folder_thread_;
};

}  // namespace lockstep::train
