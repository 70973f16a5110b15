#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <csignal>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/folder.h"
#include "core/error.h"
#include "core/files.h"
#include "slurm/allocation.h"
#include "slurm/queries.h"
#include "train/event_log.h"
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

}  // namespace

int requeue_command(std::span<const std::string> args) {
  po::options_description options("Options");
  int status = 0;
  int max_failures = 0;
  std::string run;
  options.add_options()("help,h", "print this help")("run", po::value(&run)->value_name("DIR"),
                                                     "the run folder (also as the only plain word)")(
      "status", po::value(&status)->value_name("N"), "exit status of srun, $? in the script")(
      "max-failures", po::value(&max_failures)->default_value(3)->value_name("N"),
      "requeue after at most N failures in a row without a new checkpoint");
  po::variables_map given;
  try {
    po::positional_options_description plain;
    plain.add("run", 1);
    po::store(po::command_line_parser(std::vector<std::string>(args.begin(), args.end()))
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
        "usage: lockstep requeue RUN_DIR --status=$?\n\n"
        "The last line of a batch script: reads how this attempt ended, asks Slurm about the job, and "
        "either\n"
        "requeues it or ends the script with the right code. A cancelled job is never requeued.\n\n{}",
        text.str());
    return 0;
  }
  if (run.empty() || given.count("status") == 0) {
    throw Error(ExitCode::usage, "lockstep requeue: usage: lockstep requeue RUN_DIR --status=$?");
  }
  // TERM to a job reaches every process of its batch step, the commands that are started here too.
  std::signal(SIGTERM, SIG_IGN);
  const slurm::Allocation allocation = slurm::read_allocation(slurm::process_environment());
  if (!allocation.in_job()) {
    throw Error(ExitCode::usage,
                "lockstep requeue: SLURM_JOB_ID is not set: this belongs into a batch script");
  }

  const std::string token = fmt::format("{}.{}", allocation.job_id, allocation.restart_count);
  const auto outcome = train::read_outcome(run, token);
  train::Situation situation{outcome, status,      ask_job_state(allocation.job_id), allocation.restart_count,
                             0,       max_failures};
  auto verdict = train::decide(situation);
  if (verdict.requeue && train::is_failure(outcome, status)) {
    // Counted only now: what Slurm itself ends or repeats is no failure of the run's.
    situation.failures = count_failure(run);
    verdict = train::decide(situation);
  }
  const auto tell = [&](std::string_view event, const std::string& detail) {
    try {
      train::append_event(train::RunFolder(run).events(), outcome ? outcome->step : 0, event, detail);
    } catch (const Error& error) {
      fmt::print(stderr, "lockstep: warning: {}\n", error.what());
    }
  };
  if (!verdict.requeue) {
    const bool finished = outcome && outcome->code == ExitCode::finished;
    if (!finished) tell("not requeued", fmt::format("job {}; {}", allocation.job_id, verdict.reason));
    fmt::print(stderr, "lockstep: job {}: {}\n", allocation.job_id, verdict.reason);
    return verdict.exit_code;
  }
  fmt::print(stderr, "lockstep: job {}: {}; requeueing\n", allocation.job_id, verdict.reason);
  tell("requeued", fmt::format("job {}; {}", allocation.job_id, verdict.reason));
  if (const std::string problem = slurm::requeue_job(allocation.job_id); !problem.empty()) {
    tell("not requeued", problem);
    throw Error(ExitCode::requeue, fmt::format("{}; submit the job again to go on from step {}", problem,
                                               outcome ? outcome->step : 0));
  }
  return 0;
}

}  // namespace lockstep::cli
