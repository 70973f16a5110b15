#include "train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/agreement.h"
#include "core/clock.h"
#include "core/text.h"
#include "train/data_check.h"
#include "train/gradient_sum.h"
#include "train/identity.h"
#include "train/rank_device.h"
#include "train/resume.h"
#include "train/signal_report.h"

namespace lockstep::train {

namespace {

// A cautious file system, for the estimate before the first save is measured.
constexpr double assumed_bytes_per_second = 50e6;
constexpr double assumed_fixed_seconds = 2;

int threads_of(const Config& config, const slurm::Allocation& allocation) {
  if (config.train.threads > 0) return static_cast<int>(config.train.threads);
  return std::max(1, allocation.cpus_per_task);
}

}  // namespace

Run::Run(const Setting& setting)
    : setting_(setting),
      config_(setting.resolved.config),
      threads_(threads_of(config_, setting.allocation)),
      checkpoint_comm_(setting.comm.native()),
      guard_(config_.guard),
      best_(config_.eval) {
  checkpoint_comm_.count_waits_with(setting.comm);
}

Run::~Run() = default;

void Run::prepare() {
  open_data();
  check_same_data();
  auto device = open_rank_device(setting_.comm, config_.train, threads_, setting_.log);
  comm::agree(setting_.comm, "build the model", [&] {
    check_fits(config_, *train_data_);
    learner_.emplace(config_, std::move(device), train_data_->sample_shape(), train_data_->outputs());
    learner_->check_micro_batches(config_.train.micro_batch, train_data_->size());
  });
  setting_.watchdog.set_device_wait(learner_->device().waited_for_since());
  reducer_comm_ =
      gradient_communicator(setting_.comm, learner_->device(), config_, setting_.log, report_keeper());
}

void Run::start(const RunOptions& options) {
  log_hash_ = options.log_hash;
  open_trace(options.trace);
  deadline_.emplace(setting_.allocation, setting_.comm.rank() == 0);
  check_content();
  // Before anything is read: what a predecessor that still lives has written so far can be published no more.
  comm::agree(setting_.comm, "remove unfinished checkpoints", [&] {
    if (setting_.comm.rank() == 0) remove_unfinished();
  });
  if (config_.guard.anomaly == "rollback") initial_ = learner_->snapshot();
  const bool evaluations_known = resume(options.fork);
  watch_gpu();
  comm::agree(setting_.comm, "open the records of the run", [&] {
    if (setting_.comm.rank() == 0) open_records();
  });
  if (!evaluations_known) {
    evaluated_step_ = records_ ? records_->last_evaluation() : -1;
    setting_.comm.broadcast(std::as_writable_bytes(std::span(&evaluated_step_, 1)), 0);
  }
  saved_evaluation_ = evaluated_step_;

  data::Sampler sampler(*train_data_, sampler_config());
  steps_per_epoch_ = sampler.steps_per_epoch();
  const auto virtual_workers = static_cast<int>(config_.virtual_workers());
  const auto lanes = comm::lanes_of(setting_.comm.rank(), setting_.comm.size(), virtual_workers);
  loader_.emplace(*train_data_, std::move(sampler), lanes, position(),
                  static_cast<std::size_t>(config_.data.prefetch), config_.train.steps - step_,
                  augment_options(config_), trace_.get());
  reducer_ = make_reducer(*reducer_comm_, *learner_, config_, trace_.get());
  stepper_.emplace(
      config_, *learner_, *loader_, data::Sampler(*train_data_, sampler_config()), setting_.comm, *reducer_,
      guard_, Clock{[this] { return deadline_near(); }, [this] { return clock_says_save(); }}, trace_.get());
  patience_.emplace(config_.checkpoint.minutes, monotonic_seconds());
  stall_alarm_.emplace(60 * config_.guard.stalled_minutes, monotonic_seconds());
  start_watching();
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

void Run::check_content() {
  const auto depth = content_depth(config_);
  if (!depth) return;
  const DataCheckSetting setting{setting_.comm,
                                 setting_.watchdog,
                                 setting_.log,
                                 setting_.folder.checked_data(),
                                 [this] { setting_.folder.fence(setting_.attempt); },
                                 [this] { return deadline_near(); }};
  train::check_content(setting, *train_data_, "training", *depth);
  if (test_data_) train::check_content(setting, *test_data_, "test", *depth);
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

void Run::open_trace(const std::string& path) {
  if (!path.empty()) {
    comm::agree(setting_.comm, "open the trace", [&] {
      trace_ = std::make_unique<Trace>(trace_path(path, setting_.attempt.in_slurm ? setting_.attempt.job : "",
                                                  setting_.attempt.restart, setting_.comm.rank()),
                                       setting_.comm.rank(), setting_.allocation.node,
                                       [&log = setting_.log](const std::string& text) { log.warn(text); });
    });
  } else if (learner_->device().kind() == "cuda") {
    trace_ = std::make_unique<Trace>();  // a profiler may listen
  }
  if (!trace_) return;
  learner_->set_trace(trace_.get());
  learner_->device().show_in(*trace_);
}

ResumeSetting Run::resume_setting(bool fork) const {
  return {setting_.resolved,
          setting_.folder,
          setting_.attempt,
          setting_.comm,
          setting_.log,
          *train_data_,
          test_data_ ? &*test_data_ : nullptr,
          fork};
}

bool Run::resume(bool fork) {
  const Span span(trace_.get(), "resume", "checkpoint");
  save_seconds_ =
      assumed_fixed_seconds + static_cast<double>(learner_->snapshot().bytes()) / assumed_bytes_per_second;
  const auto resumed = resume_newest(resume_setting(fork), *learner_);
  if (!resumed) return true;
  const checkpoint::State& state = resumed->state;
  step_ = resumed_at_ = saved_step_ = state.step;
  origin_ = resumed->origin;
  guard_.read(state);
  take_over(state);
  // Not back across a change of the order of samples, nor to what an earlier version did not note.
  rollback_step_ = step_;
  if (state.values.contains("rollback_step") && origin_.step < step_) {
    rollback_step_ = int_value(state, "rollback_step");
  }
  if (rollback_step_ > 0) initial_.reset();
  return state.values.contains("evaluated_step");
}

void Run::take_over(const checkpoint::State& state) {
  samples_ = state.samples;
  evaluated_step_ = state.values.contains("evaluated_step") ? int_value(state, "evaluated_step") : state.step;
  best_ = Best(config_.eval);
  best_.read(state, test_data_ ? identity_of(*test_data_) : std::string());
}

void Run::remove_unfinished() {
  const auto folder = setting_.folder.checkpoints();
  for (const std::string& text : checkpoint::unfinished(folder)) setting_.log.warn(text);
  checkpoint::remove_stale_temporaries(folder, {setting_.attempt.job, setting_.attempt.restart},
                                       [&] { setting_.folder.fence(setting_.attempt); });
}

void Run::open_records() {
  if (config_.checkpoint.keep_best) {
    checkpoint::link_best(setting_.folder.checkpoints(), best_.step(),
                          [&] { setting_.folder.fence(setting_.attempt); });
  }
  records_.emplace(setting_.folder, setting_.log, setting_.board, setting_.hook, config_, setting_.attempt,
                   step_, evaluated_step_, log_hash_, gpu_monitor_.get());
  if (records_->last_metrics() < step_) {
    setting_.log.warn(fmt::format("{} ends at step {}, the checkpoint is of step {}: rows were lost",
                                  setting_.folder.metrics().string(), records_->last_metrics(), step_));
  }
  write_atomically(setting_.folder.configuration(), to_ini(setting_.resolved, true),
                   [&] { setting_.folder.fence(setting_.attempt); });
  records_->event(step_, step_ > 0 ? "resumed" : "started",
                  fmt::format("{} ranks; job {} restart {}{}", setting_.comm.size(), setting_.attempt.job,
                              setting_.attempt.restart, records_->waited()));
  setting_.board.update([&](Status& status) {
    status.step = step_;
    if (step_ > 0) status.checkpoint_step = step_;
  });
}

data::SamplerConfig Run::sampler_config() const {
  return {config_.run.seed, config_.train.global_batch, config_.train.micro_batch,
          config_.data.shuffle_window};
}

data::Position Run::position() const {
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

// By its step, or because it holds what the best evaluation found; so the same in an undisturbed run.
bool Run::save_scheduled() const {
  if (config_.checkpoint.every > 0 && step_ % config_.checkpoint.every == 0) return true;
  return config_.checkpoint.keep_best && best_.step() == step_;
}

Outcome Run::execute() {
  votes_ = agreed_votes(setting_.comm, deadline_near());
  while (!any(votes_)) {
    if (evaluation_due()) {
      run_evaluation();
    } else if (step_ >= config_.train.steps || best_.exhausted()) {
      break;
    } else {
      take_step();
    }
    const bool due = save_scheduled() || save_by_clock_;
    if (due && !any(votes_) && !evaluation_due() && !saved()) {
      save_on_the_way();
      // A stop request that came meanwhile has no need of another step and another save.
      votes_ = agreed_votes(setting_.comm, deadline_near());
    }
  }
  if (any(votes_)) report_signals();
  // All is done and evaluated, or the ranks agreed to stop: either way this very step is what is kept.
  if (!saved() && step_ > 0) save_at_last();
  announce_bytes();
  record_ranks();
  const bool all_steps = step_ >= config_.train.steps;
  const bool finished = (all_steps || best_.exhausted()) && !evaluation_due();
  Outcome outcome{ExitCode::requeue, step_, describe(votes_, setting_.comm.size()), ""};
  if (finished) {
    outcome.code = ExitCode::finished;
    outcome.reason = !all_steps             ? fmt::format("stopped early: {}", best_.verdict())
                     : resumed_at_ == step_ ? fmt::format("all {} steps were done before", step_)
                                            : fmt::format("all {} steps are done", step_);
  }
  if (records_) records_->event(step_, finished ? "finished" : "stopped", outcome.reason);
  return outcome;
}

void Run::take_step() {
  setting_.watchdog.enter(Phase::step, step_ + 1);
  const data::Position at = position();
  const StepReport report = stepper_->run(step_, at);
  votes_ = report.votes;
  save_by_clock_ = report.save_due;
  if (report.overlap) setting_.log.info(*report.overlap);
  if (report.abandoned) return;
  step_seconds_ = std::max(report.seconds, 0.9 * step_seconds_);
  if (!report.anomaly.empty()) {
    meet_anomaly(at, report);
  } else if (!report.overflow.empty()) {
    skip(at, report, "overflow", report.overflow);
  } else {
    guard_.accept(report.loss);
    ++step_;
    samples_ += report.samples;
    if (records_) records_->step(step_, at.epoch, samples_, report);
  }
  watch_ranks(report);
  if (!records_) return;
  alert_if_stalled();
  setting_.board.update([end = deadline_->end_time()](Status& status) { status.end_time = end; });
}

void Run::alert_if_stalled() {
  const double now = monotonic_seconds();
  if (!stall_alarm_->due(guard_.mean(), now)) return;
  const std::string text =
      fmt::format("the loss has not improved for {}: its best recent mean is still {:.4g}",
                  human_seconds(stall_alarm_->seconds_without_improvement(now)), stall_alarm_->best());
  setting_.log.agreed_warning(fmt::format("step {}: {}", step_, text));
  records_->event(step_, "alert", text);
}

// Every rank knows that the ranks have agreed to stop: all come here.
void Run::report_signals() {
  const auto signals = gather_signals(setting_.comm, setting_.allocation.node);
  if (!records_) return;
  std::optional<double> left;
  if (const auto end = deadline_->end_time()) left = static_cast<double>(*end) - wall_seconds();
  for (const std::string& line : signal_lines(signals, left)) records_->event(step_, "signal", line);
}

void Run::run_evaluation() {
  setting_.watchdog.enter(Phase::eval, step_);
  const Span span(trace_.get(), "evaluation", "evaluation", step_);
  evaluation_ = evaluate(
      *learner_, *test_data_, config_.eval.batch, setting_.comm, [this] { return deadline_near(); }, votes_);
  if (!evaluation_) return;
  evaluated_step_ = step_;
  best_.offer(step_, *evaluation_);
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
  state.values["updates"] = learner_->updates();
  state.values["environment"] = learner_->environment();
  state.values["train_data"] = identity_of(*train_data_);
  state.values["test_data"] = test_data_ ? identity_of(*test_data_) : std::string();
  state.values["ranks"] = static_cast<std::int64_t>(setting_.comm.size());
  state.values["job"] = setting_.attempt.token();
  state.values["evaluated_step"] = evaluated_step_;
  state.values["rollback_step"] = save_scheduled() ? step_ : rollback_step_;
  learner_->write(state);
  guard_.write(state);
  best_.write(state);
  return state;
}

}  // namespace lockstep::train
