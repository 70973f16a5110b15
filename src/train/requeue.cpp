#include "train/requeue.h"

#include <fmt/format.h>

#include "core/files.h"
#include "core/text.h"

namespace lockstep::train {

namespace {

// Codes after which the same start would end the same way.
bool is_final(int code) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::usage:
    case ExitCode::bad_data:
    case ExitCode::missing_input:
    case ExitCode::cannot_create:
    case ExitCode::bad_config:
      return true;
    default:
      return false;
  }
}

int code_of(const std::optional<Outcome>& outcome, int status) {
  return outcome ? static_cast<int>(outcome->code) : status;
}

std::string reason_of(const std::optional<Outcome>& outcome, int status) {
  if (outcome) return outcome->reason;
  return fmt::format("the step ended with status {} and left no outcome", status);
}

}  // namespace

bool is_failure(const std::optional<Outcome>& outcome, int status) {
  const int code = code_of(outcome, status);
  return code != 0 && code != static_cast<int>(ExitCode::requeue) && !is_final(code);
}

FailureCount parse_failures(std::string_view text) {
  const auto parts = split(trim(text), ' ');
  if (parts.size() != 2) return {};
  const auto step = parse_int(parts[0]);
  const auto count = parse_int(parts[1]);
  constexpr std::int64_t most = 1'000'000;  // a garbled number must not overflow when one is added
  if (!step || !count || *step < -1 || *count < 0 || *count > most) return {};
  return {*step, static_cast<int>(*count)};
}

FailureCount count_failure(const std::filesystem::path& run, std::int64_t newest_checkpoint_step) {
  FailureCount before;
  const std::filesystem::path file = run / "failures";
  if (const auto text = read_text(file)) before = parse_failures(*text);
  const bool progress = newest_checkpoint_step > before.checkpoint_step;
  const FailureCount now{newest_checkpoint_step, progress ? 1 : before.count + 1};
  write_atomically(file, fmt::format("{} {}\n", now.checkpoint_step, now.count));
  return now;
}

// What Slurm 22.05 shows a batch script at its end (docs/slurm-behaviour.md): a preempted job still RUNS
// while its grace time lasts, or is SIGNALING while a node has not taken the signal; at the time limit it is
// COMPLETING with that reason; a job that Slurm or an admin has requeued is COMPLETING with one restart more
// than this attempt knows of; COMPLETING otherwise was cancelled.
Verdict decide(const Situation& s) {
  const int code = code_of(s.outcome, s.status);
  const std::string reason = reason_of(s.outcome, s.status);
  Verdict verdict;
  verdict.exit_code = code;
  verdict.reason = reason;
  if (code == 0) return verdict;
  if (is_final(code)) {
    verdict.reason = fmt::format("{} (exit code {}: not requeued)", reason, code);
    return verdict;
  }

  verdict.exit_code =
      code == static_cast<int>(ExitCode::requeue) ? code : static_cast<int>(ExitCode::peer_failed);
  if (!s.job.job) {
    verdict.reason =
        fmt::format("{}; not requeued, as Slurm did not tell the job's state: {}", reason, s.job.problem);
    return verdict;
  }
  const auto& job = *s.job.job;
  if (job.restarts > s.restart_count) {
    verdict.by_slurm = true;
    verdict.exit_code = 0;
    verdict.reason = fmt::format("{}; Slurm has requeued the job itself", reason);
  } else if (job.state == "COMPLETING" && job.reason != "TimeLimit") {
    verdict.cancelled = true;
    verdict.reason = fmt::format("{}; not requeued: the job was cancelled", reason);
  } else if (job.state != "RUNNING" && job.state != "SIGNALING" && job.state != "COMPLETING") {
    verdict.reason = fmt::format("{}; not requeued: the job is {}", reason, job.state);
  } else if (s.failures > s.max_failures) {
    verdict.exit_code = static_cast<int>(ExitCode::internal);
    verdict.reason =
        fmt::format("{}; not requeued: failure {} in a row without a new checkpoint", reason, s.failures);
  } else {
    verdict.requeue = true;
    verdict.exit_code = 0;
    if (s.failures > 0) {
      verdict.reason =
          fmt::format("{}; failure {} of at most {} in a row", reason, s.failures, s.max_failures);
    }
  }
  return verdict;
}

}  // namespace lockstep::train
