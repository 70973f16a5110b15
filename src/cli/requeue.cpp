#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/folder.h"
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

namespace lockstep::cli {

namespace po = boost::program_options;

namespace {

// A controller that is just being restarted must not cost a saved run its requeue.
slurm::JobStateAnswer ask_job_state(const std::string& job_id) {
  constexpr int tries = 4;
  constexpr std::chrono::seconds pause{5};
  slurm::JobStateAnswer answer = slurm::job_state(job_id);
  for (int i = 1; i < tries && !answer.answered; ++i) {
    std::this_thread::sleep_for(pause);
    answer = slurm::job_state(job_id);
  }
  return answer;
}

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
  po::variables_map given;
  try {
    po::positional_options_description plain;
    plain.add("run", 1);
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), end))
                  .options(options)
                  .positional(plain)
                  .run(),
              given);
    po::notify(given);
  } catch (const po::error& problem) {
    throw Error(ExitCode::usage, fmt::format("lockstep requeue: {}", problem.what()));
  }
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

// What went wrong; empty when the job, or the one after it, is going to run. `detail` is told how.
std::string go_on(const Order& order, const slurm::JobState& job, const std::string& job_id,
                  std::string& detail) {
  if (order.successor.empty()) return slurm::requeue_job(job.name);
  const auto submission = slurm::submit_successor(job_id, order.successor);
  if (submission.problem.empty()) detail += fmt::format("; goes on as job {}", submission.job);
  return submission.problem;
}

}  // namespace

int requeue_command(std::span<const std::string> args) {
  const auto order = parse(args);
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
  train::Situation situation{
      outcome, order->status,      ask_job_state(allocation.job_id), allocation.restart_count,
      0,       order->max_failures};
  auto verdict = train::decide(situation);
  const bool failed = train::is_failure(outcome, order->status);
  if (verdict.requeue && failed) {
    // Counted only now: what Slurm itself ends or repeats is no failure of the run's.
    situation.failures = count_failure(run);
    verdict = train::decide(situation);
  }
  const std::int64_t step = outcome ? outcome->step : 0;
  const auto tell = [&](std::string_view event, const std::string& detail) {
    try {
      train::append_event(train::RunFolder(run).events(), step, event, detail);
    } catch (const Error& error) {
      log.agreed_warning(error.what());
    }
  };
  const auto call_hook = [&](const std::string& event, const std::string& reason) {
    train::run_hook({hook_command(run, log), run, allocation.job_id, allocation.restart_count},
                    {event, step, reason}, log);
  };
  std::string reason = verdict.reason;
  std::string problem;
  if (verdict.requeue) problem = go_on(*order, *situation.job.job, allocation.job_id, reason);
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
                fmt::format("{}; submit the job again to go on from step {}", problem, step));
  }
  return verdict.exit_code;
}

}  // namespace lockstep::cli
