#include "train/watchdog.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/pause.h"
#include "core/process_exit.h"
#include "core/text.h"
#include "core/within.h"
#include "slurm/stop_signals.h"

namespace lockstep::train {

namespace {

constexpr std::string_view gpu_mark = "gpu:";
constexpr std::chrono::milliseconds look_every{100};
// Many ranks read what many ranks have left there.
constexpr std::chrono::seconds folder_patience{3};

std::string describe(Phase phase, std::int64_t step) {
  switch (phase) {
    case Phase::start:
      return "start-up";
    case Phase::step:
      return fmt::format("step {}", step);
    case Phase::eval:
      return fmt::format("the evaluation after step {}", step);
    case Phase::checkpoint:
      return fmt::format("the checkpoint of step {}", step);
    case Phase::finish:
      return fmt::format("the end of the run after step {}", step);
  }
  return "an unknown phase";
}

int stack_signal() {
  return SIGRTMIN + 3;
}

void print_stack(int) {
  const int saved = errno;
  std::array<void*, 64> frames;
  const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  errno = saved;
}

void install_stack_printer() {
  // The first backtrace() loads libgcc, which is not allowed in a handler: do it here.
  std::array<void*, 1> frame;
  (void)::backtrace(frame.data(), 1);
  struct sigaction action {};
  action.sa_handler = print_stack;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(stack_signal(), &action, nullptr);
}

}  // namespace

Watchdog::Watchdog(const Config::Limits& limits, std::string node, int rank)
    : limits_(limits), node_(std::move(node)), main_thread_(::pthread_self()), rank_(rank) {
  install_stack_printer();
  place_.since = monotonic_seconds();
  limits_thread_ = std::jthread([this](const std::stop_token& stop) { keep_limits(stop); });
  folder_thread_ = std::jthread([this](const std::stop_token& stop) { look_into_folder(stop); });
}

Watchdog::~Watchdog() = default;

void Watchdog::set_rank(int rank) {
  const std::lock_guard guard(mutex_);
  rank_ = rank;
}

void Watchdog::set_waits(std::shared_ptr<const std::atomic<int>> waits) {
  const std::lock_guard guard(mutex_);
  waits_ = std::move(waits);
}

void Watchdog::set_device_wait(std::shared_ptr<const std::atomic<double>> since) {
  const std::lock_guard guard(mutex_);
  device_wait_ = std::move(since);
}

bool Watchdog::waits() const {
  const std::lock_guard guard(mutex_);
  return waits_ && waits_->load() > 0;
}

void Watchdog::set_run(Run run) {
  const std::lock_guard guard(mutex_);
  run_ = std::make_unique<Run>(std::move(run));
}

void Watchdog::enter(Phase phase, std::int64_t step) {
  const std::lock_guard guard(mutex_);
  place_ = {phase, step, monotonic_seconds()};
}

std::string Watchdog::where() const {
  const std::lock_guard guard(mutex_);
  return describe(place_.phase, place_.step);
}

std::int64_t Watchdog::step() const {
  const std::lock_guard guard(mutex_);
  return place_.step;
}

double Watchdog::limit(Phase phase) const {
  switch (phase) {
    case Phase::start:
      return limits_.start;
    case Phase::step:
      return limits_.step;
    case Phase::eval:
      return limits_.eval;
    case Phase::checkpoint:
    case Phase::finish:
      return limits_.checkpoint;
  }
  return limits_.start;
}

void Watchdog::keep_limits(const std::stop_token& stop) {
  slurm::accept_stop_signals();
  while (!stop.stop_requested()) {
    pause_for(look_every, stop);
    Place place;
    {
      const std::lock_guard guard(mutex_);
      place = place_;
    }
    if (stop.stop_requested()) return;
    if (monotonic_seconds() - place.since > limit(place.phase)) return give_up(place);
  }
}

void Watchdog::look_into_folder(const std::stop_token& stop) {
  double published = -1;
  while (!stop.stop_requested()) {
    pause_for(look_every, stop);
    Place place;
    Run run;
    {
      const std::lock_guard guard(mutex_);
      if (!run_) continue;
      place = place_;
      run = *run_;
    }
    if (stop.stop_requested() || leaving_) return;
    const std::string reason = reason_to_leave(run, place);
    if (!reason.empty() && may_leave()) run.leave(ExitCode::peer_failed, reason);
    // At half the limit each rank that still runs leaves word where it is, for whoever gives up first.
    const double spent = monotonic_seconds() - place.since;
    if (spent > limit(place.phase) / 2 && published < place.since) {
      publish(run, place);
      published = place.since;
    }
    // A note of an earlier place would make a rank that has frozen since look alive.
    if (published > 0 && published < place.since) {
      std::error_code ignored;
      std::filesystem::remove(run.folder / fmt::format("{}.{}", run.token, run.rank), ignored);
      published = -1;
    }
  }
}

// Of the others' making; empty: there is none.
std::string Watchdog::reason_to_leave(const Run& run, const Place& place) {
  if (slurm::received_stop_signal() != 0 && run.failed_already()) return "another rank failed";
  if (waits_in_vain(run)) return "another rank failed";
  if (!has_lost_next_rank(run, place)) return {};
  const std::size_t next = (static_cast<std::size_t>(run.rank) + 1) % run.nodes.size();
  return fmt::format("rank {} on {} ended without a word: killed, or out of memory", next, run.nodes[next]);
}

// A rank that is killed lets srun send TERM to the others, which wait for it in a collective: without this
// they would stay until Slurm kills them too. With each rank looking after the next, one look per rank is
// enough: the last one before a gap finds it, and the others find its outcome. At the end of the run ranks go
// in any order.
bool Watchdog::has_lost_next_rank(const Run& run, const Place& place) {
  // All ranks may be on their way out with the same error, which rank 0 is just writing down.
  constexpr double patience = 2;
  const bool missing = run.next_rank_is_gone && slurm::received_stop_signal() != 0 &&
                       place.phase != Phase::finish && run.next_rank_is_gone();
  if (!missing) {
    missing_since_ = -1;
    return false;
  }
  if (missing_since_ < 0) missing_since_ = monotonic_seconds();
  return monotonic_seconds() - missing_since_ > patience;
}

// Who waits for a rank that has failed need not wait until the launcher ends the others: not all launchers
// do. Seldom, as the answer lies in the file system.
bool Watchdog::waits_in_vain(const Run& run) {
  constexpr double first_look = 1;
  constexpr double most_between = 10;
  if (!waits()) {
    waiting_since_ = -1;
    return false;
  }
  const double now = monotonic_seconds();
  if (waiting_since_ < 0) {
    waiting_since_ = now;
    next_look_ = now + first_look;
  }
  if (now < next_look_) return false;
  next_look_ = now + std::clamp(now - waiting_since_, first_look, most_between);
  return run.failed_already();
}

// "waiting" for peers, "gpu:SECONDS" where it began to wait for its own so many seconds after it came here,
// or "working".
std::string Watchdog::doing(const Place& place) const {
  if (waits()) return "waiting";
  const std::lock_guard guard(mutex_);
  const double since = device_wait_ ? device_wait_->load() : 0;
  return since > 0 ? fmt::format("{}{:.1f}", gpu_mark, std::max(0.0, since - place.since)) : "working";
}

void Watchdog::publish(const Run& run, const Place& place) const {
  try {
    make_folders(run.folder);
    write_atomically(
        run.folder / fmt::format("{}.{}", run.token, run.rank),
        fmt::format("{},{},{},{}", static_cast<int>(place.phase), place.step, doing(place), node_));
  } catch (const std::exception&) {
    // A file system that does not take the note is one of the ways to be late; the others will say so.
  }
}

std::string Watchdog::note_of(const Run& run, std::size_t rank) {
  try {
    return read_text(run.folder / fmt::format("{}.{}", run.token, rank)).value_or("");
  } catch (const Error&) {
    return "";
  }
}

std::string Watchdog::late_ranks(const Run& run, const Place& place) const {
  std::vector<std::string> silent;
  std::vector<std::string> busy;
  for (std::size_t rank = 0; rank < run.nodes.size(); ++rank) {
    const auto parts = split(note_of(run, rank), ',');
    if (parts.size() != 4) {
      silent.push_back(fmt::format("rank {} on {} gives no sign of life", rank, run.nodes[rank]));
      continue;
    }
    const auto phase = static_cast<Phase>(std::clamp<std::int64_t>(parse_int(parts[0]).value_or(0), 0, 4));
    const std::int64_t step = parse_int(parts[1]).value_or(0);
    if (phase == place.phase && step == place.step && parts[2].starts_with(gpu_mark)) {
      const double begin = parse_double(parts[2].substr(gpu_mark.size())).value_or(0);
      busy.push_back(fmt::format("rank {} on {}: its GPU has not finished its part of {} for {:.0f} s", rank,
                                 parts[3], describe(phase, step), limit(phase) - begin));
    } else if (phase != place.phase || step != place.step || parts[2] == "working") {
      busy.push_back(fmt::format("rank {} on {} is still in {}", rank, parts[3], describe(phase, step)));
    }
  }
  // Beside ranks that are gone or frozen, those that wait for them inside a library only look busy.
  if (!silent.empty()) return fmt::format("{}", fmt::join(silent, "; "));
  if (!busy.empty()) return fmt::format("{}", fmt::join(busy, "; "));
  return "all ranks wait for each other: look at the network";
}

std::string Watchdog::late_ranks_if_told(const Run& run, const Place& place) const {
  const auto told = within<std::string>(folder_patience, [this, run, place] {
    // A slow file system may still be at this rank's own note, and then at those of the others.
    while (note_of(run, static_cast<std::size_t>(run.rank)).empty()) std::this_thread::sleep_for(look_every);
    return late_ranks(run, place);
  });
  return told.value_or(fmt::format("the file system of {} has not answered for {} s", run.folder.string(),
                                   folder_patience.count()));
}

void Watchdog::give_up(const Place& place) {
  if (!may_leave()) return;
  std::unique_ptr<Run> run;
  int rank = 0;
  {
    const std::lock_guard guard(mutex_);
    rank = run_ ? run_->rank : rank_;
    if (run_) run = std::make_unique<Run>(*run_);
  }
  // Whatever happens below, a stuck file system included, this process is gone then.
  const bool can_inquire = run && run->inquire;
  constexpr std::chrono::seconds inquiry{4};
  exit_within(folder_patience + std::chrono::seconds(5) + (can_inquire ? inquiry : std::chrono::seconds(0)),
              ExitCode::peer_failed);
  const std::string what =
      fmt::format("no progress in {} for {} s", describe(place.phase, place.step), limit(place.phase));
  const std::string who = run ? late_ranks_if_told(*run, place)
                              : fmt::format("rank {} on {} never came to know its peers", rank, node_);
  const std::string line =
      fmt::format("lockstep: error: {}: {}; stack of rank {} on {}:\n", what, who, rank, node_);
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  ::pthread_kill(main_thread_, stack_signal());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // let the handler print
  // Before any rank leaves, so that all are still there to be asked.
  const std::string more = can_inquire ? run->inquire() : "";
  if (run)
    run->leave(ExitCode::peer_failed, fmt::format("{}: {}{}{}", what, who, more.empty() ? "" : "; ", more));
  ::_exit(static_cast<int>(ExitCode::peer_failed));
}

}  // namespace lockstep::train
