#include "train/requeue.h"

#include <catch2/catch.hpp>

#include "core/files.h"
#include "temp_folder.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

slurm::JobStateAnswer job(const std::string& state, const std::string& reason = "None", int restarts = 0) {
  return {slurm::JobState{state, reason, restarts, "3"}, true, ""};
}

Outcome outcome(ExitCode code) {
  return {code, 40, "why", "rank 0 on n1"};
}

Situation saved(const slurm::JobStateAnswer& state) {
  return {outcome(ExitCode::requeue), 75, state, 0, 0, 3};
}

}  // namespace

TEST_CASE("a preempted job and one at its time limit are requeued", "[requeue]") {
  CHECK(decide(saved(job("RUNNING"))).requeue);
  CHECK(decide(saved(job("COMPLETING", "TimeLimit"))).requeue);
  CHECK(
      decide(saved(job("SIGNALING"))).requeue);  // a RUNNING job, as long as a node has not taken the signal
  const Verdict other = decide(saved(job("SUSPENDED")));
  CHECK_FALSE((other.requeue || other.cancelled));
  CHECK_THAT(other.reason, Catch::Contains("the job is SUSPENDED"));
}

TEST_CASE("a cancelled job is never requeued", "[requeue]") {
  const Verdict verdict = decide(saved(job("COMPLETING")));
  CHECK_FALSE(verdict.requeue);
  CHECK(verdict.exit_code == 75);
  CHECK(verdict.cancelled);
  CHECK_THAT(verdict.reason, Catch::Contains("cancelled"));
  const Situation failed{std::nullopt, 137, job("COMPLETING"), 0, 1, 3};
  CHECK_FALSE(decide(failed).requeue);
  CHECK(decide(failed).exit_code == 76);
}

TEST_CASE("a job that Slurm has requeued itself is left alone", "[requeue]") {
  Situation situation = saved(job("COMPLETING", "None", 3));
  situation.restart_count = 2;
  const Verdict verdict = decide(situation);
  CHECK_FALSE(verdict.requeue);
  CHECK(verdict.exit_code == 0);
  CHECK(verdict.by_slurm);
  CHECK_THAT(verdict.reason, Catch::Contains("Slurm has requeued the job itself"));
}

TEST_CASE("a job whose state is not told is not requeued", "[requeue]") {
  CHECK_FALSE(decide(saved({std::nullopt, false, "no answer within 20 s"})).requeue);
}

TEST_CASE("finished runs and the user's errors are not requeued", "[requeue]") {
  const auto final_code = [](ExitCode code) {
    // With kill-on-bad-exit srun's status says nothing: the outcome does.
    const Verdict verdict = decide({outcome(code), 143, job("RUNNING"), 0, 0, 3});
    CHECK_FALSE(verdict.requeue);
    return verdict.exit_code;
  };
  CHECK(final_code(ExitCode::finished) == 0);
  for (const ExitCode code : {ExitCode::usage, ExitCode::bad_data, ExitCode::missing_input,
                              ExitCode::cannot_create, ExitCode::bad_config}) {
    CHECK(final_code(code) == static_cast<int>(code));
    CHECK_FALSE(is_failure(outcome(code), 143));
    CHECK_FALSE(is_failure(std::nullopt, static_cast<int>(code)));
  }
}

TEST_CASE("failures, and ends without an outcome, are requeued a limited number of times", "[requeue]") {
  for (const int status : {1, 137, 143, 70, 76}) {
    CHECK(is_failure(std::nullopt, status));
    CHECK(decide({std::nullopt, status, job("RUNNING"), 0, 3, 3}).requeue);
    const Verdict last = decide({std::nullopt, status, job("RUNNING"), 0, 4, 3});
    CHECK_FALSE(last.requeue);
    CHECK(last.exit_code == 70);
  }
  CHECK(is_failure(outcome(ExitCode::peer_failed), 143));
  CHECK_FALSE(is_failure(outcome(ExitCode::requeue), 143));
  CHECK_FALSE(is_failure(std::nullopt, 0));
}

TEST_CASE("a new checkpoint starts the count of failures again", "[requeue]") {
  const TempFolder folder;
  CHECK(count_failure(folder.path(), -1).count == 1);
  CHECK(count_failure(folder.path(), -1).count == 2);
  CHECK(count_failure(folder.path(), 100).count == 1);
  CHECK(count_failure(folder.path(), 100).count == 2);
  CHECK(count_failure(folder.path(), 200).count == 1);
}
