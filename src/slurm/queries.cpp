#include "slurm/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/subprocess.h"
#include "core/text.h"

namespace lockstep::slurm {

namespace {

constexpr std::chrono::seconds answer_limit{20};

// The value of "Key=" in `scontrol show job` output: up to the next blank.
std::optional<std::string> field(std::string_view output, std::string_view key) {
  const std::string wanted = fmt::format("{}=", key);
  std::size_t at = 0;
  while ((at = output.find(wanted, at)) != std::string_view::npos) {
    if (at == 0 || output[at - 1] == ' ' || output[at - 1] == '\n') {
      const auto begin = at + wanted.size();
      return std::string(output.substr(begin, output.find_first_of(" \n", begin) - begin));
    }
    at += wanted.size();
  }
  return std::nullopt;
}

std::string failure(const CommandResult& result, std::string_view command) {
  if (result.timed_out) return fmt::format("{} gave no answer within {} s", command, answer_limit.count());
  if (result.exit_code == 127) return fmt::format("{} is not in PATH", command);
  return fmt::format("{}: {}", command, trim(result.output));
}

}  // namespace

std::optional<JobState> parse_job_state(std::string_view scontrol_output) {
  const auto state = field(scontrol_output, "JobState");
  if (!state) return std::nullopt;
  const auto restarts = parse_int(field(scontrol_output, "Restarts").value_or("0"));
  return JobState{*state, field(scontrol_output, "Reason").value_or("None"),
                  static_cast<int>(restarts.value_or(0))};
}

bool is_over(const JobState& job) {
  constexpr std::array<std::string_view, 9> over = {"COMPLETED", "FAILED",    "CANCELLED",
                                                    "TIMEOUT",   "NODE_FAIL", "OUT_OF_MEMORY",
                                                    "BOOT_FAIL", "DEADLINE",  "PREEMPTED"};
  return std::find(over.begin(), over.end(), job.state) != over.end();
}

JobStateAnswer job_state(const std::string& job_id) {
  const CommandResult result = run_command({"scontrol", "--oneliner", "show", "job", job_id}, answer_limit);
  JobStateAnswer answer;
  if (result.ok()) {
    answer.job = parse_job_state(result.output);
    answer.answered = answer.job.has_value();
    if (!answer.answered) answer.problem = "scontrol show job: no JobState in its output";
  } else if (!result.timed_out && result.output.find("Invalid job id") != std::string::npos) {
    answer.answered = true;
    answer.problem = "Slurm does not know the job";
  } else {
    answer.problem = failure(result, "scontrol show job");
  }
  return answer;
}

std::optional<std::int64_t> job_end_time(const std::string& job_id, const std::stop_token& stop) {
  // Whatever format the user likes, here it is seconds since 1970; a job without a limit gives NONE.
  const CommandResult result =
      run_command({"env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", "--jobs", job_id, "--format", "%e"},
                  answer_limit, stop);
  return result.ok() ? parse_int(trim(result.output)) : std::nullopt;
}

std::string requeue_job(const std::string& job_id) {
  const CommandResult result = run_command({"scontrol", "requeue", job_id}, answer_limit);
  return result.ok() ? std::string() : failure(result, "scontrol requeue");
}

}  // namespace lockstep::slurm
