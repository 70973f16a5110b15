// What happens to a step that the guard refused: the run stops, skips it, or goes back. Decided by values
// that all ranks have, from what the checkpoints hold: a preempted run ends the same.
#include <fmt/format.h>

#include "comm/agreement.h"
#include "train/run.h"

namespace lockstep::train {

void Run::meet_anomaly(const data::Position& at, const StepReport& report) {
  const std::int64_t bad = step_ + 1;
  const std::string what = report.anomaly + worst_sample(report);
  comm::agree(setting_.comm, "list the bad samples", [&] {
    if (records_) records_->suspects(bad, report.suspects.worst, *train_data_);
  });
  if (config_.guard.anomaly == "stop") {
    if (records_) records_->event(bad, "anomaly", what);
    throw AgreedError(
        ExitCode::bad_config,
        fmt::format(
            "step {}: {}; lower optim.lr, set optim.clip_norm, correct the samples that anomalies.csv "
            "lists, or set guard.anomaly = skip or rollback; the last checkpoint is untouched",
            bad, what));
  }
  guard_.reject(bad, what);
  if (config_.guard.anomaly == "skip") {
    skip(at, report, "skipped", what);
  } else {
    roll_back(what);
  }
}

std::string Run::worst_sample(const StepReport& report) const {
  const Suspects& suspects = report.suspects;
  if (suspects.worst.empty()) return "; no sample stands out";
  if (suspects.not_finite == report.samples && report.samples > 1) {
    return fmt::format("; so is that of each of the {} samples: the model itself has gone wrong before",
                       report.samples);
  }
  const Suspect& worst = suspects.worst.front();
  const data::Shard& shard = train_data_->shard_of(worst.sample);
  return fmt::format("; {} of {} samples is row {} of {}",
                     worst.input > 0 ? "the one with the largest inputs" : "the worst", report.samples,
                     worst.sample - shard.first_id, shard.file.string());
}

void Run::skip(const data::Position& at, const StepReport& report, std::string_view event,
               const std::string& what) {
  ++step_;
  samples_ += report.samples;
  setting_.log.agreed_warning(fmt::format("step {} makes no update: {}", step_, what));
  if (!records_) return;
  records_->step(step_, at.epoch, samples_, report);
  records_->event(step_, event, what);
}

void Run::roll_back(const std::string& what) {
  const std::int64_t bad = step_ + 1;
  // By where it should go, not by where it comes: which checkpoints are intact is no matter of the run's.
  guard_.count_rollback(bad, what, rollback_step_);
  setting_.watchdog.enter(Phase::checkpoint, step_);
  checkpoint::State state;  // of the start
  state.values["evaluated_step"] = std::int64_t{-1};
  if (initial_) {
    learner_->restore(*initial_, 0);
  } else {
    state = restore_earlier(resume_setting(false), rollback_step_, *learner_);
  }
  if (state.step < origin_.step) {
    throw AgreedError(
        ExitCode::bad_data,
        fmt::format("step {}: {}; there is no intact checkpoint since the --fork at step {} to go "
                    "back to",
                    bad, what, origin_.step));
  }
  Guard earlier(config_.guard);
  earlier.read(state);
  guard_.roll_back_to(earlier);
  take_over(state);
  // The loader has handed out the bad step already: it goes on with the next one.
  const auto rows = passed_over(state.step, bad);
  step_ = bad;
  samples_ = rows.back().samples;
  comm::agree(setting_.comm, "take back the metrics", [&] {
    if (records_) records_->roll_back(state.step, evaluated_step_, rows);
  });
  const std::string text =
      fmt::format("{}; back to the parameters of step {}, passing over the samples of steps {} to {}", what,
                  state.step, state.step + 1, bad);
  setting_.log.agreed_warning(fmt::format("step {}: {}", bad, text));
  if (records_) records_->event(bad, "rolled back", text);
}

std::vector<PassedOver> Run::passed_over(std::int64_t from, std::int64_t to) const {
  const data::Sampler sampler(*train_data_, sampler_config());
  std::vector<PassedOver> rows;
  std::int64_t samples = samples_;
  for (std::int64_t done = from; done < to; ++done) {
    const data::Position at = position_after(done, origin_, steps_per_epoch_);
    samples += sampler.step_samples(at.step_in_epoch);
    rows.push_back({done + 1, at.epoch, samples, stepper_->learning_rate(done)});
  }
  return rows;
}

}  // namespace lockstep::train
