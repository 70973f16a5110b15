// Questions to Slurm and the one order that we give it, through its own commands with a time limit: no link
// to libslurm, so that one binary works with every Slurm version.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace lockstep::slurm {

struct JobState {
  std::string state;   // RUNNING, COMPLETING, PENDING, ...
  std::string reason;  // None, TimeLimit, ...
  int restarts = 0;    // how often Slurm has requeued it; more than our own count: it has just been requeued
};

// Has the job ended for good?
bool is_over(const JobState& job);

// Absent where Slurm does not know the job (any more) or does not answer; `answered` tells the two apart.
struct JobStateAnswer {
  std::optional<JobState> job;
  bool answered = false;
  std::string problem;  // why there was no answer, for people
};
JobStateAnswer job_state(const std::string& job_id);

// When the job's time limit ends, in seconds since 1970; absent where there is none or no answer
// before `stop` is requested.
std::optional<std::int64_t> job_end_time(const std::string& job_id, const std::stop_token& stop = {});

// `scontrol requeue`. Returns what went wrong; empty when the order was accepted.
std::string requeue_job(const std::string& job_id);

// The parts of `scontrol show job` output, for the functions above and their tests on recorded output.
std::optional<JobState> parse_job_state(std::string_view scontrol_output);

}  // namespace lockstep::slurm
