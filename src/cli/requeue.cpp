#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "checkpoint/folder.h"
#include "cli/arguments.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "slurm/allocation.h"
#include "slurm/queries.h"
#include "train/config_source.h"
#include "train/event_log.h"
#include "train/hook.h"
#include "train/outcome.h"
#include "train/requeue.h"
#include "train/run_folder.h"
#include "train/successor.h"

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

int count_failure(const std::string& run) {
  try {
    const auto checkpoints = checkpoint::list(train::RunFolder(run).checkpoints());
    make_folders(run);
    return train::count_failure(run, checkpoints.empty() ? -1 : checkpoints.front().step).count;
  } catch (const Error& error) {
    fmt::print(stderr, "lockstep: warning: {}: this failure is not counted\n", error.what());
    return 1;
  }
}

// This attempt, as far as its batch script knows it.
train::Attempt attempt_of(const slurm::Allocation& allocation) {
  train::Attempt attempt;
  attempt.job = allocation.job_id;
  attempt.restart = allocation.restart_count;
  attempt.cluster = allocation.cluster;
  attempt.node = allocation.node;
  attempt.in_slurm = true;
  return attempt;
}

// Only what is known for sure keeps a failure out of the records.
bool belongs_to_another(const std::string& run, const train::Attempt& attempt) {
  try {
    return train::RunFolder(run).belongs_to_another(attempt, train::owner_alive_patiently);
  } catch (const Error&) {
    return false;
  }
}

// Whether a start of this job came so far as to own the folder.
bool has_claimed(const std::string& run, const train::Attempt& attempt) {
  try {
    const auto owner = train::RunFolder(run).owner();
    return owner && owner->attempt.job == attempt.job && owner->attempt.cluster == attempt.cluster;
  } catch (const Error&) {
    return false;
  }
}

// The next job of a chain repeats the command line: what --fresh asked for has been done, and would be done
// again.
void drop_fresh(std::vector<std::string>& words) {
  std::erase(words, "--fresh");
}

// From the run folder: a failure before the first step finds it there too. Empty where there is none.
std::string hook_command(const std::string& run, const Log& log) {
  const auto file = train::RunFolder(run).configuration();
  try {
    if (std::filesystem::exists(file)) return train::resolve_config(file, {}).config.run.hook;
  } catch (const Error& error) {
    log.agreed_warning(fmt::format("run.hook cannot be read: {}", error.what()));
  }
  return "";
}

struct Order {
  std::string run;
  int status = 0;
  int max_failures = 0;
  std::vector<std::string> successor;  // the words for sbatch; empty: scontrol requeue
};

// Nothing where only help was wanted.
std::optional<Order> parse(std::span<const std::string> args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  Order order;
  std::string by;
  po::options_description options("Options");
  options.add_options()("help,h", "print this help")("run", po::value(&order.run)->value_name("DIR"),
                                                     "the run folder (also as the only plain word)")(
      "status", po::value(&order.status)->value_name("N"), "exit status of srun, $? in the script")(
      "max-failures", po::value(&order.max_failures)->default_value(3)->value_name("N"),
      "go on after at most N failures in a row without a new checkpoint")(
      "by", po::value(&by)->default_value("requeue")->value_name("HOW"),
      "requeue, or submit: a new job, which starts when this one has ended, for sites that forbid requeue");
  const po::variables_map given =
      parse_arguments(std::span(args.begin(), end), options, "lockstep requeue", 1);
  if (given.count("help") != 0) {
    std::ostringstream text;
    text << options;
    fmt::print(
        "usage: lockstep requeue RUN_DIR --status=$?\n"
        "       lockstep requeue RUN_DIR --status=$? --by=submit -- \"$0\" \"$@\"\n\n"
        "The last line of a batch script: reads how this attempt ended, asks Slurm about the job, and "
        "either\n"
        "lets it go on or ends the script with the right code. A cancelled job never goes on.\n"
        "Exit codes: 0 all is done, or it goes on; or else the attempt's own, and 70 after too many failures "
        "in a row.\n\n{}",
        text.str());
    return std::nullopt;
  }
  if (order.run.empty() || given.count("status") == 0) {
    throw Error(ExitCode::usage, "lockstep requeue: usage: lockstep requeue RUN_DIR --status=$?");
  }
  order.successor.assign(end == args.end() ? end : end + 1, args.end());
  if ((by != "requeue" && by != "submit") || (by == "submit") == order.successor.empty()) {
    throw Error(
        ExitCode::usage,
        "lockstep requeue: --by=requeue, or --by=submit -- \"$0\" \"$@\": script and arguments of the "
        "next job");
  }
  return order;
}

// What went wrong, or the job that was submitted; neither when this one is going to run again.
slurm::Submission go_on(const Order& order, const slurm::JobState& job, const std::string& job_id) {
  if (order.successor.empty()) return {"", slurm::requeue_job(job.name)};
  return slurm::submit_successor(job_id, order.successor);
}

}  // namespace

int requeue_command(std::span<const std::string> args) {
  auto order = parse(args);
  if (!order) return 0;
  // TERM to a job reaches every process of its batch step, the commands that are started here too.
  std::signal(SIGTERM, SIG_IGN);
  const slurm::Allocation allocation = slurm::read_allocation(slurm::process_environment());
  if (!allocation.in_job()) {
    throw Error(ExitCode::usage,
                "lockstep requeue: SLURM_JOB_ID is not set: this belongs into a batch script");
  }
  const Log log(0, allocation.node);
  const std::string& run = order->run;

  const std::string token = fmt::format("{}.{}", allocation.job_id, allocation.restart_count);
  const auto outcome = train::read_outcome(run, token);
  train::Situation situation{outcome,
                             order->status,
                             slurm::job_state(allocation.job_id, slurm::restart_pauses),
                             allocation.restart_count,
                             0,
                             order->max_failures};
  auto verdict = train::decide(situation);
  const train::Attempt attempt = attempt_of(allocation);
  const bool guest = belongs_to_another(run, attempt);
  if (has_claimed(run, attempt)) drop_fresh(order->successor);
  const bool failed = train::is_failure(outcome, order->status);
  if (verdict.requeue && failed) {
    // Counted only now: what Slurm itself ends or repeats is no failure of the run's. One that the folder's
    // owner has no part in is not counted with the owner's.
    situation.failures = guest ? allocation.restart_count + 1 : count_failure(run);
    verdict = train::decide(situation);
  }
  const std::int64_t step = outcome ? outcome->step : 0;
  const auto tell = [&](std::string_view event, const std::string& detail) {
    if (guest) return;
    try {
      train::append_event(train::RunFolder(run).events(), step, event, detail);
    } catch (const Error& error) {
      log.agreed_warning(error.what());
    }
  };
  // For `lockstep status` alone.
  const auto remember = [&](const std::string& next_job) {
    if (guest || !std::filesystem::is_directory(run)) return;
    try {
      train::note_successor(train::RunFolder(run), token, next_job);
    } catch (const Error& error) {
      log.agreed_warning(error.what());
    }
  };
  const auto call_hook = [&](const std::string& event, const std::string& reason) {
    if (guest) return;
    train::run_hook({hook_command(run, log), run, allocation.job_id, allocation.restart_count},
                    {event, step, reason}, log);
  };
  std::string reason = verdict.reason;
  std::string problem;
  if (verdict.requeue) {
    const auto submission = go_on(*order, *situation.job.job, allocation.job_id);
    problem = submission.problem;
    if (!submission.job.empty()) {
      reason += fmt::format("; goes on as job {}", submission.job);
      remember(submission.job);
    }
  }
  const bool ended = !verdict.requeue || !problem.empty();
  if (!problem.empty()) reason = fmt::format("{}; not requeued: {}", verdict.reason, problem);
  if (!ended) {
    log.info(fmt::format("job {}: {}{}", allocation.job_id, reason,
                         order->successor.empty() ? "; requeueing" : ""));
    tell("requeued", fmt::format("job {}; {}", allocation.job_id, reason));
  } else {
    const bool finished = outcome && outcome->code == ExitCode::finished;
    if (!finished) tell("not requeued", fmt::format("job {}; {}", allocation.job_id, reason));
    if (problem.empty()) log.info(fmt::format("job {}: {}", allocation.job_id, reason));
  }

  // After all that matters: from the requeue on, Slurm ends this script within KillWait seconds.
  const bool gives_up = ended && (verdict.exit_code != 0 || !problem.empty());
  if ((failed || gives_up) && !verdict.cancelled) call_hook("failure", reason);
  if (!ended || verdict.by_slurm) call_hook("requeue", reason);
  if (!problem.empty()) {
    throw Error(ExitCode::requeue,
                fmt::format("{}; submit the job again to go on from {}", problem,
                            failed ? "the last checkpoint" : fmt::format("step {}", step)));
  }
  return verdict.exit_code;
}

}  // namespace lockstep::cli
