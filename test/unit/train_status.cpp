#include "train/status.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "json_check.h"
#include "train/run_state.h"

using namespace lockstep;
using namespace lockstep::train;

namespace {

Status full_status() {
  Status status;
  status.job = "12";
  status.restart = 3;
  status.node = "n1";
  status.ranks = 4;
  status.phase = "step 41";
  status.step = 40;
  status.total = 100;
  status.epoch = 2;
  status.loss = 0.1;
  status.learning_rate = 0.05;
  status.samples_per_second = 1234.5;
  status.seconds_left = 60;
  status.checkpoint_step = 30;
  status.checkpoint_time = 1.7e9;
  status.evaluation_step = 20;
  status.evaluation_loss = 0.2;
  status.evaluation_accuracy = 0.9;
  status.stragglers = "rank 2 on n3 (computing)";
  status.end_time = 1.8e9;
  status.written = 1.7e9 + 1.5;
  return status;
}

// An owner in Slurm that has just been heard of.
Sight sight(const std::string& job_state, int restarts = 0) {
  Sight sight;
  sight.owner.attempt.job = "12";
  sight.owner.attempt.in_slurm = true;
  sight.owner.heartbeat_age = 2;
  if (!job_state.empty()) sight.job = slurm::JobState{job_state, "None", restarts, "7"};
  if (sight.job && !slurm::is_over(*sight.job)) sight.alive = "job 12 is " + job_state;
  return sight;
}

Outcome outcome(ExitCode code) {
  return {code, 40, "the reason", "rank 1 on n2"};
}

}  // namespace

TEST_CASE("a status reads back what was written", "[train]") {
  const Status status = full_status();
  CHECK(to_text(parse_status(to_text(status))) == to_text(status));
  CHECK(parse_status(to_text(status)).loss == 0.1);
  CHECK(to_text(status).find("evaluation_accuracy=0.9\n") != std::string::npos);
}

TEST_CASE("what is not known yet is absent, not zero", "[train]") {
  const Status status = parse_status(to_text(Status{}));
  CHECK_FALSE(status.loss);
  CHECK_FALSE(status.checkpoint_step);
  CHECK(test::JsonCheck::accepts("{" + json_members(status) + "}"));
  CHECK(json_members(status).find("\"loss\":null") != std::string::npos);
}

TEST_CASE("a status is read from any bytes", "[train]") {
  const Status odd = parse_status(
      "loss=nan\nstep=12x\ntotal=99999999999999999999\nlearning_rate=1e999\njob=a=b\nrubbish\n=\n");
  CHECK_FALSE(odd.loss);
  CHECK_FALSE(odd.learning_rate);
  CHECK(odd.step == 0);
  CHECK(odd.total == 0);
  CHECK(odd.job == "a=b");

  std::mt19937 random(1);
  const std::string good = to_text(full_status());
  for (int i = 0; i < 2000; ++i) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (unsigned change = random() % 4; change > 0 && !text.empty(); --change) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    REQUIRE(test::JsonCheck::accepts("{" + json_members(parse_status(text)) + "}"));
  }
}

TEST_CASE("a text in a status cannot break its lines", "[train]") {
  Status status;
  status.node = "n1\nstep=5";
  CHECK(parse_status(to_text(status)).step == 0);
}

TEST_CASE("a run whose job runs is running, and silent when it has not been heard of", "[train]") {
  Sight live = sight("RUNNING");
  CHECK(judge(live).state == RunState::running);
  live.owner.heartbeat_age = 100;
  CHECK(judge(live).state == RunState::silent);
  CHECK(judge(live).reason == "job 12 is RUNNING, but gave no sign of life for 100 s");
}

TEST_CASE("a run whose job is queued again waits, whatever its last attempt left", "[train]") {
  Sight queued = sight("PENDING", 1);
  CHECK(judge(queued).state == RunState::waiting);
  for (const ExitCode code : {ExitCode::requeue, ExitCode::peer_failed}) {
    queued.outcome = outcome(code);
    CHECK(judge(queued).state == RunState::waiting);
    CHECK(judge(queued).reason.find("the reason") != std::string::npos);
  }
  Sight again = sight("RUNNING", 1);
  again.outcome = outcome(ExitCode::requeue);
  CHECK(judge(again).state == RunState::waiting);
}

TEST_CASE("a run whose next job of a chain is queued waits for it", "[train]") {
  for (const std::string& job : {std::string("COMPLETED"), std::string()}) {
    Sight chain = sight(job);
    chain.outcome = outcome(ExitCode::requeue);
    chain.next_job = "13";
    chain.next = slurm::JobState{"PENDING", "Dependency", 0, "13"};
    CHECK(judge(chain).state == RunState::waiting);
    CHECK(judge(chain).reason == "its next job 13 is PENDING; the reason, says rank 1 on n2");
    chain.next->state = "RUNNING";
    CHECK(judge(chain).reason ==
          "its next job 13 is RUNNING and has not come to this run yet; the reason, says rank 1 on n2");
    chain.outcome.reset();  // killed
    CHECK(judge(chain).state == RunState::waiting);
    chain.next->state = "CANCELLED";
    CHECK(judge(chain).state == RunState::dead);
    chain.outcome = outcome(ExitCode::requeue);
    CHECK(judge(chain).state == RunState::stopped);
    chain.next.reset();  // Slurm has forgotten it
    CHECK(judge(chain).state == RunState::stopped);
    chain.next = slurm::JobState{"PENDING", "Dependency", 0, "13"};
    chain.outcome = outcome(ExitCode::finished);
    CHECK(judge(chain).state == RunState::finished);
  }
}

TEST_CASE("an outcome says how a run ended", "[train]") {
  Sight ended = sight("");
  ended.outcome = outcome(ExitCode::finished);
  CHECK(judge(ended).state == RunState::finished);
  ended.outcome = outcome(ExitCode::requeue);
  CHECK(judge(ended).state == RunState::stopped);
  CHECK(judge(ended).reason == "saved after step 40; the reason, says rank 1 on n2");
  ended.outcome = outcome(ExitCode::bad_config);
  CHECK(judge(ended).state == RunState::failed);
  CHECK(judge(ended).reason.starts_with("exit code 78; the reason"));
  // The job of a finished run may still be there.
  Sight leaving = sight("COMPLETING");
  leaving.outcome = outcome(ExitCode::finished);
  CHECK(judge(leaving).state == RunState::finished);
}

TEST_CASE("a run that is gone without an outcome is dead", "[train]") {
  CHECK(judge(sight("")).state == RunState::dead);
  CHECK(judge(sight("NODE_FAIL")).state == RunState::dead);
}
