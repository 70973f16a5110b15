#include "slurm/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

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

// The lines about one job: all where it does not occur.
std::string_view record_of(std::string_view output, const std::string& job_id) {
  constexpr std::string_view key = "JobId=";
  for (std::size_t at = 0; at < output.size();) {
    auto next = output.find("\nJobId=", at);
    next = next == std::string_view::npos ? output.size() : next + 1;
    const std::string_view record = output.substr(at, next - at);
    if (record.starts_with(key) && field(record, "JobId") == job_id) return record;
    at = next;
  }
  return output;
}

std::string failure(const CommandResult& result, std::string_view command) {
  if (result.timed_out) return fmt::format("{} gave no answer within {} s", command, answer_limit.count());
  if (result.exit_code == 127) return fmt::format("{} is not in PATH", command);
  return fmt::format("{}: {}", command, trim(result.output));
}

}  // namespace

std::optional<JobState> parse_job_state(std::string_view scontrol_output, const std::string& job_id) {
  const std::string_view record = record_of(scontrol_output, job_id);
  const auto state = field(record, "JobState");
  if (!state) return std::nullopt;
  const auto restarts = parse_int(field(record, "Restarts").value_or("0"));
  const auto array = field(record, "ArrayJobId");
  const auto task = parse_int(field(record, "ArrayTaskId").value_or(""));
  return JobState{*state, field(record, "Reason").value_or("None"), static_cast<int>(restarts.value_or(0)),
                  array && task ? fmt::format("{}_{}", *array, *task) : job_id};
}

std::optional<std::int64_t> parse_end_time(std::string_view squeue_output, const std::string& job_id) {
  for (const std::string& line : split(squeue_output, '\n')) {
    const auto parts = split(trim(line), ' ');
    if (parts.size() == 2 && parts[0] == job_id) return parse_int(parts[1]);
  }
  return std::nullopt;
}

bool is_over(const JobState& job) {
  constexpr std::array<std::string_view, 9> over = {"COMPLETED", "FAILED",    "CANCELLED",
                                                    "TIMEOUT",   "NODE_FAIL", "OUT_OF_MEMORY",
                                                    "BOOT_FAIL", "DEADLINE",  "PREEMPTED"};
  return std::find(over.begin(), over.end(), job.state) != over.end();
}

namespace {

JobStateAnswer ask_job_state(const std::string& job_id) {
  const CommandResult result = run_command({"scontrol", "--oneliner", "show", "job", job_id}, answer_limit);
  JobStateAnswer answer;
  if (result.ok()) {
    answer.job = parse_job_state(result.output, job_id);
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

}  // namespace

JobStateAnswer job_state(const std::string& job_id, std::span<const std::chrono::seconds> pauses) {
  JobStateAnswer answer = ask_job_state(job_id);
  for (auto pause = pauses.begin(); pause != pauses.end() && !answer.answered; ++pause) {
    std::this_thread::sleep_for(*pause);
    answer = ask_job_state(job_id);
  }
  return answer;
}

std::optional<std::int64_t> job_end_time(const std::string& job_id, const std::stop_token& stop) {
  // Whatever format the user likes, here it is seconds since 1970; a job without a limit gives NONE.
  CommandOptions options;
  options.limit = answer_limit;
  options.stop = stop;
  options.environment = {{"SLURM_TIME_FORMAT", "%s"}};
  const CommandResult result =
      run_command({"squeue", "--noheader", "--jobs", job_id, "--format", "%A %e"}, options);
  return result.ok() ? parse_end_time(result.output, job_id) : std::nullopt;
}

std::string requeue_job(const std::string& name) {
  const CommandResult result = run_command({"scontrol", "requeue", name}, answer_limit);
  return result.ok() ? std::string() : failure(result, "scontrol requeue");
}

Submission submit_successor(const std::string& predecessor, const std::vector<std::string>& words) {
  std::vector<std::string> command = {"sbatch", "--parsable",
                                      fmt::format("--dependency=afterany:{}", predecessor)};
  // What the user may have given to sbatch on the command line, where the script does not have it.
  constexpr std::array<std::pair<const char*, const char*>, 5> same = {
      {{"SLURM_JOB_NAME", "--job-name"},
       {"SLURM_JOB_PARTITION", "--partition"},
       {"SLURM_JOB_ACCOUNT", "--account"},
       {"SLURM_JOB_QOS", "--qos"},
       {"SLURM_JOB_RESERVATION", "--reservation"}}};
  for (const auto& [variable, option] : same) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') command.push_back(fmt::format("{}={}", option, value));
  }
  const CommandResult limit =
      run_command({"squeue", "--noheader", "--jobs", predecessor, "--format", "%l"}, answer_limit);
  if (const std::string text(trim(limit.output)); limit.ok() && !text.empty() && text != "INVALID") {
    command.push_back(fmt::format("--time={}", text));
  }
  command.insert(command.end(), words.begin(), words.end());
  const CommandResult result = run_command(command, answer_limit);
  if (!result.ok()) return {"", failure(result, "sbatch")};
  // Warnings may come with it; the id is the line that is a number, perhaps with the cluster's name behind
  // it.
  for (const std::string& line : split(result.output, '\n')) {
    const std::string id(trim(std::string_view(line).substr(0, line.find(';'))));
    if (parse_int(id)) return {id, ""};
  }
  return {"", fmt::format("sbatch: no job id in its answer: {}", trim(result.output))};
}

}  // namespace lockstep::slurm
