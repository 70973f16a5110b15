#include "train/run_state.h"

#include <fmt/format.h>

#include <array>

#include "core/files.h"
#include "train/successor.h"

namespace lockstep::train {

namespace {

// Several heartbeats (launch.cpp) and some patience of a network file system's cache.
constexpr double silence = 30;

bool is_queued(const slurm::JobState& job) {
  return job.state == "PENDING" || job.state == "REQUEUED" || job.state == "REQUEUE_HOLD" ||
         job.state == "SPECIAL_EXIT" || job.state == "CONFIGURING";
}

std::string ending(const Outcome& outcome) {
  return outcome.who.empty() ? outcome.reason : fmt::format("{}, says {}", outcome.reason, outcome.who);
}

}  // namespace

std::string_view name_of(RunState state) {
  constexpr std::array<std::string_view, 7> names = {"running",  "silent", "waiting", "stopped",
                                                     "finished", "failed", "dead"};
  return names.at(static_cast<std::size_t>(state));
}

std::optional<Sight> look_at(const RunFolder& folder, const std::string& here) {
  const auto owner = folder.owner();
  if (!owner) return std::nullopt;
  Sight sight;
  sight.owner = *owner;
  sight.outcome = read_outcome(folder.path(), owner->attempt.token());
  if (const auto text = read_text(folder.status())) {
    Status status = parse_status(*text);
    if (status.job == owner->attempt.job && status.restart == owner->attempt.restart) {
      sight.status = std::move(status);
    }
  }
  if (owner->attempt.in_slurm) {
    sight.job = slurm::job_state(owner->attempt.job).job;
    sight.next_job = successor_of(folder, owner->attempt.token()).value_or("");
    if (!sight.next_job.empty()) sight.next = slurm::job_state(sight.next_job).job;
  }
  if (sight.job) {
    if (!slurm::is_over(*sight.job)) {
      sight.alive = fmt::format("job {} is {}", owner->attempt.job, sight.job->state);
    }
  } else if (!owner->ended && !sight.outcome) {
    sight.alive = owner_alive(owner->attempt, here, owner->heartbeat_age);
  }
  return sight;
}

Judgement judge(const Sight& sight) {
  const Attempt& owner = sight.owner.attempt;
  const std::string last = sight.outcome ? fmt::format("; {}", ending(*sight.outcome)) : "";
  const bool finished = sight.outcome && sight.outcome->code == ExitCode::finished;
  if (sight.job && !slurm::is_over(*sight.job) && !finished) {
    if (is_queued(*sight.job)) {
      return {RunState::waiting, fmt::format("job {} is {}{}", owner.job, sight.job->state, last)};
    }
    if (sight.job->restarts > owner.restart) {
      return {RunState::waiting, fmt::format("job {} is {} again and has not come to this run yet{}",
                                             owner.job, sight.job->state, last)};
    }
  }
  if (sight.next && !slurm::is_over(*sight.next) && !finished) {
    return {RunState::waiting,
            fmt::format("its next job {} is {}{}{}", sight.next_job, sight.next->state,
                        is_queued(*sight.next) ? "" : " and has not come to this run yet", last)};
  }
  if (sight.outcome) {
    const auto code = static_cast<int>(sight.outcome->code);
    if (finished) return {RunState::finished, sight.outcome->reason};
    if (sight.outcome->code == ExitCode::requeue) {
      return {RunState::stopped,
              fmt::format("saved after step {}; {}", sight.outcome->step, ending(*sight.outcome))};
    }
    return {RunState::failed, fmt::format("exit code {}; {}", code, ending(*sight.outcome))};
  }
  if (sight.alive.empty())
    return {RunState::dead, "it left no outcome; start it again to go on from its last checkpoint"};
  if (sight.owner.heartbeat_age > silence) {
    return {RunState::silent,
            fmt::format("{}, but gave no sign of life for {:.0f} s", sight.alive, sight.owner.heartbeat_age)};
  }
  return {RunState::running, ""};
}

}  // namespace lockstep::train
