// How a run saves, and what happens when it cannot (docs/errors.md).
#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "comm/agreement.h"
#include "core/clock.h"
#include "core/text.h"
#include "train/run.h"

namespace lockstep::train {

namespace {

// The parts of the save that has just ended, one after the other.
void trace_save(Trace* trace, const checkpoint::SaveReport& report) {
  if (trace == nullptr) return;
  double end = monotonic_seconds();
  for (const auto& [name, seconds] :
       {std::pair{"publish", report.publish_seconds}, std::pair{"flush", report.flush_seconds},
        std::pair{"write", report.write_seconds}, std::pair{"create", report.create_seconds}}) {
    trace->add(name, "checkpoint", Row::training, end - seconds, end);
    end -= seconds;
  }
}

}  // namespace

void Run::clear_up_checkpoints(const checkpoint::Fence& fence) const {
  const std::filesystem::path folder = setting_.folder.checkpoints();
  std::vector<std::int64_t> needed;
  if (config_.checkpoint.keep_best) needed.push_back(best_.step());
  if (config_.guard.anomaly == "rollback") needed.push_back(rollback_step_);
  // The link first: what it points to is not removed.
  if (config_.checkpoint.keep_best) checkpoint::link_best(folder, best_.step(), fence);
  checkpoint::retire(folder, config_.checkpoint.keep, step_, fence, needed);
}

// What happens when a checkpoint cannot be written is the rule of docs/errors.md. One of copies that differ
// would be of no rank's state.
std::string Run::save() {
  setting_.watchdog.enter(Phase::checkpoint, step_);
  save_by_clock_ = false;
  compare_replicas();
  try {
    write_checkpoint();
    patience_->saved(monotonic_seconds());
  } catch (const AgreedError& error) {
    bear_with(error);
    patience_->failed(monotonic_seconds());
    return fmt::format("the checkpoint of step {} failed: {}", step_, error.what());
  }
  try {
    remove_old_checkpoints();
  } catch (const AgreedError& error) {
    bear_with(error);
    tell_of_failure(fmt::format("old checkpoints stay: {}", error.what()));
  }
  return "";
}

void Run::write_checkpoint() {
  const Span span(trace_.get(), "checkpoint", "checkpoint", step_);
  const double begin = monotonic_seconds();
  comm::agree(setting_.comm, "write the metrics to storage", [&] {
    if (records_) records_->sync();
  });
  auto snapshot = learner_->snapshot();
  checkpoint::SaveOptions options;
  options.attempt = {setting_.attempt.job, setting_.attempt.restart};
  options.fence = [&] { setting_.folder.fence(setting_.attempt); };
  const auto report =
      checkpoint::save(checkpoint_comm_, setting_.folder.checkpoints(), state(), snapshot.views(), options);
  saved_step_ = step_;
  saved_evaluation_ = evaluated_step_;
  if (save_scheduled()) {
    rollback_step_ = step_;
    initial_.reset();
  }
  trace_save(trace_.get(), report);
  save_seconds_ = monotonic_seconds() - begin;
  setting_.log.info(fmt::format("saved {} ({}, {:.2f} s)", report.path.string(),
                                human_bytes(static_cast<double>(report.file_bytes)), save_seconds_));
  if (records_) {
    records_->checkpoint(step_, report.path.filename().string(), report.file_bytes, save_seconds_);
  }
}

void Run::remove_old_checkpoints() {
  comm::agree(setting_.comm, "remove old checkpoints", [&] {
    if (setting_.comm.rank() != 0) return;
    const auto fence = [&] { setting_.folder.fence(setting_.attempt); };
    clear_up_checkpoints(fence);
  });
}

// Throws where it cannot become better: the error lies in the run itself, or the folder is gone or another
// attempt's.
void Run::bear_with(const AgreedError& error) {
  std::string lost;
  if (setting_.comm.rank() == 0) {
    try {
      lost = setting_.folder.lost_by(setting_.attempt);
    } catch (const Error&) {
      // Not known: the file system does not answer, and may again.
    }
  }
  comm::broadcast_text(setting_.comm, lost, 0);
  if (!lost.empty()) throw AgreedError(ExitCode::cannot_create, lost);
  if (error.code() == ExitCode::bad_config) throw error;
}

void Run::tell_of_failure(const std::string& text) {
  setting_.log.agreed_warning(text);
  if (records_) records_->event(step_, "save failed", text);
}

bool Run::root_says(bool mine) {
  std::int64_t answer = mine ? 1 : 0;
  setting_.comm.broadcast(std::as_writable_bytes(std::span(&answer, 1)), 0);
  return answer != 0;
}

void Run::save_on_the_way() {
  const std::string failure = save();
  if (failure.empty()) return;
  tell_of_failure(failure);
  if (!root_says(patience_->exhausted(monotonic_seconds()))) return;
  throw AgreedError(ExitCode::peer_failed,
                    fmt::format("no checkpoint could be written for too long: the run ends here, after step "
                                "{}, before more is lost; see the warnings above",
                                step_));
}

void Run::save_at_last() {
  LastSave last(config_.limits.checkpoint, monotonic_seconds());
  bool told = false;
  for (std::string failure = save(); !failure.empty(); failure = save()) {
    const bool urged = any(votes_) || any(agreed_votes(setting_.comm, deadline_near()));
    const bool again = root_says(last.again(urged, monotonic_seconds()));
    // Of the first failure and the last: a hook that is called every two seconds helps nobody.
    if (!again || !std::exchange(told, true)) tell_of_failure(failure);
    if (!again) {
      throw AgreedError(
          ExitCode::peer_failed,
          fmt::format("the last checkpoint, of step {}, could not be written; see the warnings above",
                      step_));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(LastSave::pause));
  }
}

}  // namespace lockstep::train
