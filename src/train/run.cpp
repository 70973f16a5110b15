#include "train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/agreement.h"
#include "core/clock.h"
#include "core/text.h"
#include "train/identity.h"
#include "train/resume.h"

namespace lockstep::train {

namespace {

// A cautious file system, for the estimate before the first save is measured.
constexpr double assumed_bytes_per_second = 50e6;
constexpr double assumed_fixed_seconds = 2;

int threads_of(const Config& config, const slurm::Allocation& allocation) {
  if (config.train.threads > 0) return static_cast<int>(config.train.threads);
  return std::max(1, allocation.cpus_per_task);
}

data::SamplerConfig sampler_config(const Config& config) {
  return {config.run.seed, config.train.global_batch, config.train.micro_batch, config.data.shuffle_window};
}

}  // namespace

Run::Run(const Setting& setting)
    : setting_(setting),
      config_(setting.resolved.config),
      threads_(threads_of(config_, setting.allocation)),
      reducer_comm_(setting.comm.duplicate()),
      checkpoint_comm_(setting.comm.native()) {
  checkpoint_comm_.count_waits_with(setting.comm);
}

Run::~Run() = default;

void Run::prepare() {
  open_data();
  check_same_data();
  comm::agree(setting_.comm, "build the model", [&] {
    learner_.emplace(config_, threads_, train_data_->sample_shape(), train_data_->classes());
  });
}

void Run::start(const RunOptions& options) {
  // Before anything is read: what a predecessor that still lives has written so far can be published no more.
  comm::agree(setting_.comm, "remove unfinished checkpoints", [&] {
    if (setting_.comm.rank() == 0) remove_unfinished();
  });
  resume(options.fork);
  comm::agree(setting_.comm, "open the records of the run", [&] {
    if (setting_.comm.rank() == 0) open_records();
  });

  data::Sampler sampler(*train_data_, sampler_config(config_));
  steps_per_epoch_ = sampler.steps_per_epoch();
  const auto virtual_workers = static_cast<int>(config_.virtual_workers());
  const auto lanes = comm::lanes_of(setting_.comm.rank(), setting_.comm.size(), virtual_workers);
  const StepPosition start = position();
  loader_.emplace(*train_data_, std::move(sampler), data::LaneRange{lanes.first, lanes.last},
                  data::Position{start.epoch, start.step_in_epoch},
                  static_cast<std::size_t>(config_.data.prefetch), config_.train.steps - step_);
  reducer_ = comm::make_reducer(
      config_.train.reduction == "exact" ? comm::ReduceMode::exact : comm::ReduceMode::fast, *reducer_comm_,
      virtual_workers);
  deadline_.emplace(setting_.allocation, setting_.comm.rank() == 0);
  stepper_.emplace(config_, *learner_, *loader_, setting_.comm, *reducer_, setting_.watchdog,
                   Clock{[this] { return deadline_near(); }, [this] { return clock_says_save(); }});
  patience_.emplace(config_.checkpoint.minutes, monotonic_seconds());
  announce();
}

void Run::open_data() {
  comm::agree(setting_.comm, "open the training data",
              [&] { train_data_.emplace(data::Dataset::open(config_.data.train)); });
  if (config_.data.test.empty()) return;
  comm::agree(setting_.comm, "open the test data", [&] {
    test_data_.emplace(data::Dataset::open(config_.data.test));
    check_same_kind(*train_data_, *test_data_);
  });
}

// Nodes may have copies of their own: ranks that read different data would train something that nobody asked
// for.
void Run::check_same_data() {
  const auto all =
      comm::gather_texts(setting_.comm, fmt::format("{} to train and {} to test", identity_of(*train_data_),
                                                    test_data_ ? identity_of(*test_data_) : "nothing"));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw AgreedError(
        ExitCode::bad_data,
        fmt::format("rank {} on {} sees other data than rank 0 on {}: {}, and {}; give all nodes the "
                    "same files",
                    rank, setting_.comm.host(static_cast<int>(rank)), setting_.comm.host(0), all[rank],
                    all[0]));
  }
}

void Run::resume(bool fork) {
  save_seconds_ =
      assumed_fixed_seconds + static_cast<double>(learner_->snapshot().bytes()) / assumed_bytes_per_second;
  const auto resumed = resume_newest({setting_.resolved, setting_.folder, setting_.attempt, setting_.comm,
                                      setting_.log, *train_data_, test_data_ ? &*test_data_ : nullptr, fork},
                                     *learner_);
  if (!resumed) return;
  step_ = resumed_at_ = saved_step_ = resumed->state.step;
  samples_ = resumed->state.samples;
  origin_ = resumed->origin;
}

void Run::remove_unfinished() {
  const auto folder = setting_.folder.checkpoints();
  for (const std::string& text : checkpoint::unfinished(folder)) setting_.log.warn(text);
  checkpoint::remove_stale_temporaries(folder, {setting_.attempt.job, setting_.attempt.restart},
                                       [&] { setting_.folder.fence(setting_.attempt); });
}

void Run::open_records() {
  records_.emplace(setting_.folder, setting_.log, step_, config_.run.log_every, config_.train.steps);
  if (records_->last_metrics() < step_) {
    setting_.log.warn(fmt::format("{} ends at step {}, the checkpoint is of step {}: rows were lost",
                                  setting_.folder.metrics().string(), records_->last_metrics(), step_));
  }
  write_atomically(setting_.folder.path() / "config.ini", to_ini(setting_.resolved, true));
  records_->event(step_, step_ > 0 ? "resumed" : "started",
                  fmt::format("{} ranks; job {} restart {}", setting_.comm.size(), setting_.attempt.job,
                              setting_.attempt.restart));
}

void Run::announce() const {
  const int ranks = setting_.comm.size();
  const std::int64_t workers = config_.virtual_workers();
  const std::int64_t most = (workers + ranks - 1) / ranks;
  const double idle = 1.0 - static_cast<double>(workers) / static_cast<double>(most * ranks);
  setting_.log.info(fmt::format(
      "{} with {} parameters on {} training samples; {} ranks x {} threads, {} micro-batches of {} per "
      "step{}",
      config_.model.name, learner_->parameter_count(), train_data_->size(), ranks, threads_, workers,
      config_.train.micro_batch,
      idle > 0 ? fmt::format(" ({:.0f} % of the ranks' time idle: use a divisor of {})", 100 * idle, workers)
               : ""));
  if (step_ > 0) {
    setting_.log.info(fmt::format("resumed from step {} of {}", step_, config_.train.steps));
  }
}

void Run::announce_bytes() {
  auto bytes = loader_->bytes_read();
  setting_.comm.all_reduce_sum(std::span<std::int64_t>(&bytes, 1));
  const double epochs = static_cast<double>(step_ - resumed_at_) / static_cast<double>(steps_per_epoch_);
  const auto once = static_cast<double>(train_data_->bytes());
  if (epochs >= 1) {
    setting_.log.info(fmt::format("read {} of training data: {:.3f} x the {:.2f} epochs of {}",
                                  human_bytes(static_cast<double>(bytes)),
                                  static_cast<double>(bytes) / (once * epochs), epochs, human_bytes(once)));
    constexpr double too_much = 1.1;
    if (setting_.comm.rank() == 0 && static_cast<double>(bytes) > too_much * once * epochs) {
      setting_.log.warn(
          "the shards' chunks are shared by many micro-batches and read again by each: make them smaller "
          "(docs/formats.md)");
    }
  }
}

StepPosition Run::position() const {
  return position_after(step_, origin_, steps_per_epoch_);
}

bool Run::deadline_near() const {
  return deadline_ && deadline_->near(save_seconds_, step_seconds_);
}

bool Run::clock_says_save() const {
  return setting_.comm.rank() == 0 && patience_->due(monotonic_seconds());
}

bool Run::evaluation_due() const {
  if (!test_data_ || step_ == 0 || evaluated_step_ == step_) return false;
  return step_ == config_.train.steps || (config_.eval.every > 0 && step_ % config_.eval.every == 0);
}

Outcome Run::execute() {
  std::int64_t evaluated = records_ ? records_->last_evaluation() : -1;
  setting_.comm.broadcast(std::as_writable_bytes(std::span(&evaluated, 1)), 0);
  evaluated_step_ = evaluated;
  votes_ = agreed_votes(setting_.comm, deadline_near());
  while (!any(votes_)) {
    if (evaluation_due()) {
      run_evaluation();
    } else if (step_ >= config_.train.steps) {
      break;
    } else {
      take_step();
    }
    const bool due = config_.checkpoint.every > 0 && step_ % config_.checkpoint.every == 0;
    if ((due || save_by_clock_) && !any(votes_) && !evaluation_due() && saved_step_ != step_) {
      save_on_the_way();
      // A stop request that came meanwhile has no need of another step and another save.
      votes_ = agreed_votes(setting_.comm, deadline_near());
    }
  }
  // All is done and evaluated, or the ranks agreed to stop: either way this very step is what is kept.
  if (saved_step_ != step_ && step_ > 0) save_at_last();
  announce_bytes();
  const bool finished = step_ >= config_.train.steps && !evaluation_due();
  Outcome outcome{ExitCode::requeue, step_, describe(votes_, setting_.comm.size()), ""};
  if (finished) {
    outcome.code = ExitCode::finished;
    outcome.reason = resumed_at_ == step_ ? fmt::format("all {} steps were done before", step_)
                                          : fmt::format("all {} steps are done", step_);
  }
  if (records_) records_->event(step_, finished ? "finished" : "stopped", outcome.reason);
  return outcome;
}

void Run::take_step() {
  setting_.watchdog.enter(Phase::step, step_ + 1);
  const StepPosition at = position();
  const StepReport report = stepper_->run(step_);
  votes_ = report.votes;
  save_by_clock_ = report.save_due;
  if (report.abandoned) return;
  ++step_;
  samples_ += report.samples;
  step_seconds_ = std::max(report.seconds, 0.9 * step_seconds_);
  if (records_) records_->step(step_, at.epoch, samples_, report);
}

void Run::run_evaluation() {
  setting_.watchdog.enter(Phase::eval, step_);
  evaluation_ = evaluate(
      *learner_, *test_data_, config_.eval.batch, setting_.comm, setting_.watchdog,
      [this] { return deadline_near(); }, votes_);
  if (!evaluation_) return;
  evaluated_step_ = step_;
  if (records_) records_->evaluation(step_, position().epoch, *evaluation_);
}

checkpoint::State Run::state() const {
  checkpoint::State state;
  state.step = step_;
  state.samples = samples_;
  state.epoch = position().epoch;
  state.values["config"] = canonical_text(setting_.resolved);
  state.values["origin_step"] = origin_.step;
  state.values["origin_epoch"] = origin_.epoch;
  state.values["environment"] = learner_->environment();
  state.values["train_data"] = identity_of(*train_data_);
  state.values["test_data"] = test_data_ ? identity_of(*test_data_) : std::string();
  state.values["ranks"] = static_cast<std::int64_t>(setting_.comm.size());
  state.values["job"] = setting_.attempt.token();
  return state;
}

// What happens when a checkpoint cannot be written is the rule of docs/errors.md.
bool Run::save() {
  setting_.watchdog.enter(Phase::checkpoint, step_);
  try {
    write_checkpoint();
    patience_->saved(monotonic_seconds());
  } catch (const AgreedError& error) {
    bear_with(error, fmt::format("the checkpoint of step {} failed", step_));
    patience_->failed(monotonic_seconds());
  }
  save_by_clock_ = false;
  if (saved_step_ != step_) return false;
  try {
    remove_old_checkpoints();
  } catch (const AgreedError& error) {
    bear_with(error, "old checkpoints stay");
  }
  return true;
}

void Run::write_checkpoint() {
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
  save_seconds_ = monotonic_seconds() - begin;
  setting_.log.info(fmt::format("saved {} ({}, {:.2f} s)", report.path.string(),
                                human_bytes(static_cast<double>(report.file_bytes)), save_seconds_));
  if (records_) records_->event(step_, "saved", report.path.filename().string());
}

void Run::remove_old_checkpoints() {
  comm::agree(setting_.comm, "remove old checkpoints", [&] {
    if (setting_.comm.rank() != 0) return;
    const auto fence = [&] { setting_.folder.fence(setting_.attempt); };
    checkpoint::retire(setting_.folder.checkpoints(), config_.checkpoint.keep, step_, fence);
  });
}

// Tells of what has failed, and throws where it cannot become better: the error lies in the run itself, or
// the folder is gone or another attempt's.
void Run::bear_with(const AgreedError& error, const std::string& what) {
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
  setting_.log.agreed_warning(fmt::format("{}: {}", what, error.what()));
  if (records_) records_->event(step_, "save failed", fmt::format("{}: {}", what, error.what()));
}

bool Run::root_says(bool mine) {
  std::int64_t answer = mine ? 1 : 0;
  setting_.comm.broadcast(std::as_writable_bytes(std::span(&answer, 1)), 0);
  return answer != 0;
}

void Run::save_on_the_way() {
  if (save() || !root_says(patience_->exhausted(monotonic_seconds()))) return;
  throw AgreedError(ExitCode::peer_failed,
                    fmt::format("no checkpoint could be written for too long: the run ends here, after step "
                                "{}, before more is lost; see the warnings above",
                                step_));
}

void Run::save_at_last() {
  LastSave last(config_.limits.checkpoint, monotonic_seconds());
  while (!save()) {
    const bool urged = any(votes_) || any(agreed_votes(setting_.comm, deadline_near()));
    if (!root_says(last.again(urged, monotonic_seconds()))) {
      throw AgreedError(
          ExitCode::peer_failed,
          fmt::format("the last checkpoint, of step {}, could not be written; see the warnings above",
                      step_));
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(LastSave::pause));
  }
}

}  // namespace lockstep::train
