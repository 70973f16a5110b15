// Questions to Slurm and the one order that we give it, through its own commands with a time limit: no link
// to libslurm, so that one binary works with every Slurm version.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::slurm {

struct JobState {
  std::string state;   // RUNNING, COMPLETING, PENDING, ...
  std::string reason;  // None, TimeLimit, ...
  int restarts = 0;    // how often Slurm has requeued it; more than our own count: it has just been requeued
  std::string name;    // for Slurm's commands: "12", or "10_2" for a task of a job array
};

// Has the job ended for good?
bool is_over(const JobState& job);

// Absent where Slurm does not know the job (any more) or does not answer; `answered` tells the two apart.
struct JobStateAnswer {
  std::optional<JobState> job;
  bool answered = false;
  std::string problem;  // why there was no answer, for people
};
//
// Where Slurm does not answer, it is asked again after each of the `pauses`.
JobStateAnswer job_state(const std::string& job_id, std::span<const std::chrono::seconds> pauses = {});

// A controller that is just being restarted must not cost a run its next start: for job_state().
inline constexpr std::array<std::chrono::seconds, 3> restart_pauses = {
    {std::chrono::seconds(1), std::chrono::seconds(4), std::chrono::seconds(10)}};

// When the job's time limit ends, in seconds since 1970; absent where there is none or no answer
// before `stop` is requested.
std::optional<std::int64_t> job_end_time(const std::string& job_id, const std::stop_token& stop = {});

// `scontrol requeue` of JobState::name: the id of an array's first task would mean all its tasks. Returns
// what went wrong; empty when the order was accepted.
std::string requeue_job(const std::string& name);

// `sbatch`: submits a job that starts when `predecessor` has ended, however it did, in the same partition and
// account, with the same name and time limit. `words` are the script and its arguments.
struct Submission {
  std::string job;      // its id; empty where it was not accepted
  std::string problem;  // then: why
};
Submission submit_successor(const std::string& predecessor, const std::vector<std::string>& words);

// The parts of `scontrol show job` output, for the functions above and their tests on recorded output. Asked
// for an array's first task, Slurm shows all of them: the one with this id is taken.
std::optional<JobState> parse_job_state(std::string_view scontrol_output, const std::string& job_id);
// "ID SECONDS" lines, likewise.
std::optional<std::int64_t> parse_end_time(std::string_view squeue_output, const std::string& job_id);

}  // namespace lockstep::slurm
