#include "train/stepper.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/clock.h"
#include "optim/gradient_norm.h"
#include "optim/schedule.h"

namespace lockstep::train {

namespace {

enum Quantity : std::size_t { loss_sum, correct_count, sample_count, quantities };
constexpr std::size_t abandon_flag = stop_causes;  // after the flags of the causes
constexpr std::size_t save_flag = stop_causes + 1;
constexpr std::size_t flags = stop_causes + 2;
// How often a rank that waits for data looks whether it should stop.
constexpr std::chrono::milliseconds look_up{100};

optim::ScheduleOptions schedule_of(const Config::Optim& optim) {
  return {optim::schedule_kind(optim.schedule), optim.lr, optim.warmup_steps, optim.decay_steps,
          optim.min_lr};
}

}  // namespace

Stepper::Stepper(const Config& config, Learner& learner, data::Loader& loader, data::Sampler sampler,
                 comm::Group& comm, comm::Reducer& reducer, const Guard& guard, Clock clock, Trace* trace)
    : config_(config),
      learner_(learner),
      loader_(loader),
      ahead_(learner, loader),
      sampler_(std::move(sampler)),
      comm_(comm),
      reducer_(reducer),
      guard_(guard),
      clock_(std::move(clock)),
      trace_(trace),
      lanes_(comm::lanes_of(comm.rank(), comm.size(), static_cast<int>(config.virtual_workers()))),
      packet_(static_cast<int>(config.virtual_workers()), quantities, flags,
              static_cast<std::size_t>(learner.statistic_count())),
      statistics_(learner, packet_),
      schedule_(schedule_of(config.optim)),
      data_waits_(learner.device().make_stopwatch()),
      overlap_(config.comm.overlap, comm.size()),
      present_(static_cast<std::size_t>(config.virtual_workers())) {}

// A device that is given work ahead may still compute while this thread waits for data, and waits for the sum
// while this thread has gone on: what the device has waited for is known when it was waited for, and what is
// left of the time was its work.
StopVotes Stepper::compute(std::int64_t steps_done, StepReport& report) {
  const double begin = monotonic_seconds();
  data_waits_->restart();
  for (int lane = lanes_.first; lane < lanes_.last; ++lane) {
    StopVotes votes{};
    auto next = await_batch(votes);
    if (!next) return votes;
    if (next->batch.size > 0) train_lane(lane, *next, steps_done);
    taken_.push_back({std::move(next->batch), 0});
    ahead_.fill();
  }
  read_results();
  report.data_seconds = data_waits_->seconds();
  report.communication_seconds = reducer_.seconds_waited();
  report.compute_seconds =
      std::max(0., monotonic_seconds() - begin - report.data_seconds - report.communication_seconds);
  return {};
}

std::optional<BatchesAhead::SentBatch> Stepper::await_batch(StopVotes& votes) {
  const Span span(trace_, "data wait", "data");
  const device::Stopwatch::Stretch stretch(*data_waits_);
  while (true) {
    if (auto next = ahead_.next(look_up)) {
      learner_.await(next->sent);
      return next;
    }
    votes = local_votes(clock_.deadline_near());
    if (any(votes)) return std::nullopt;
  }
}

void Stepper::train_lane(int lane, const BatchesAhead::SentBatch& lane_batch, std::int64_t steps_done) {
  const comm::Reducer::Place place = reducer_.begin_lane(lane);
  learner_.use_gradients(place.gradient);
  trained_.push_back(learner_.train(lane_batch.batch, lane_batch.sent, steps_done, place.accumulate,
                                    [this](std::size_t p) { reducer_.finish_parameter(p); }));
  reducer_.end_lane();
}

// Here, once in a step, the device is waited for: it works on one micro-batch while the next is prepared.
void Stepper::read_results() {
  auto trained = trained_.begin();
  for (TakenBatch& taken : taken_) {
    if (taken.batch.size == 0) continue;
    const auto lane = static_cast<int>(taken.batch.lane);
    const device::LossSum result = learner_.read_loss(*trained);
    statistics_.record(lane, *trained++);
    packet_.set(loss_sum, lane, result.loss);
    packet_.set(correct_count, lane, static_cast<double>(result.correct));
    packet_.set(sample_count, lane, static_cast<double>(taken.batch.size));
    taken.loss = result.loss / static_cast<double>(taken.batch.size);
  }
}

// With overlap other ranks count on this one's gradients as soon as it has begun the step: they are summed
// before anything is agreed upon, in a step that is given up as well. Without, the packet comes first.
StepReport Stepper::run(std::int64_t steps_done, const data::Position& at) {
  StepReport report;
  const Span span(trace_, "step", "step", steps_done + 1);
  const double begin = monotonic_seconds();
  packet_.clear();
  for (std::size_t lane = 0; lane < present_.size(); ++lane) {
    present_[lane] = sampler_.lane_samples(at.step_in_epoch, static_cast<std::int64_t>(lane)) > 0 ? 1 : 0;
  }
  reducer_.begin_step(present_, overlap_.on());
  const StopVotes given_up = compute(steps_done, report);
  const bool summed_early = reducer_.overlaps();
  if (summed_early) {
    if (any(given_up)) {
      reducer_.abandon();
    } else {
      sum_gradients(report);
    }
  }
  agree(given_up, report);
  if (report.abandoned) {
    recycle();
    return report;
  }

  report_loss(steps_done, report);
  report.anomaly = guard_.fault_of_loss(report.loss);
  Sign sign = Sign::loss;
  if (report.anomaly.empty()) {
    if (!summed_early) sum_gradients(report);
    sign = update(report);
  }
  if (!report.anomaly.empty()) {
    const Suspects mine = find_suspects(learner_, taken_, guard_, sign, steps_done);
    report.suspects = gather_suspects(comm_, mine);
  }
  recycle();
  report.seconds = monotonic_seconds() - begin;
  report.overlap = overlap_.record({report.seconds, report.communication_seconds}, comm_);
  return report;
}

void Stepper::agree(StopVotes mine, StepReport& report) {
  if (any(mine)) {
    packet_.raise(abandon_flag);
  } else {
    mine = local_votes(clock_.deadline_near());
  }
  for (std::size_t i = 0; i < stop_causes; ++i) {
    if (mine[i] != 0) packet_.raise(i);
  }
  if (clock_.save_due()) packet_.raise(save_flag);
  const double begin = monotonic_seconds();
  {
    const Span agreement(trace_, "agreement", "agreement");
    packet_.gather(comm_);
  }
  report.communication_seconds += monotonic_seconds() - begin;
  for (std::size_t i = 0; i < stop_causes; ++i) report.votes[i] = packet_.raised(i);
  report.save_due = packet_.raised(save_flag) > 0;
  report.abandoned = packet_.raised(abandon_flag) > 0;
}

void Stepper::report_loss(std::int64_t steps_done, StepReport& report) const {
  report.samples = std::llround(packet_.sum(sample_count));
  report.loss = packet_.sum(loss_sum) / static_cast<double>(report.samples);
  if (learner_.counts_correct()) {
    report.accuracy = packet_.sum(correct_count) / static_cast<double>(report.samples);
  }
  report.learning_rate = learning_rate(steps_done);
  report.gradient_norm = std::numeric_limits<double>::quiet_NaN();
}

void Stepper::sum_gradients(StepReport& report) {
  const double begin = monotonic_seconds();
  const Span reduction(trace_, "reduction", "reduction");
  learner_.use_gradients(reducer_.finish());
  learner_.device().synchronise();
  report.communication_seconds += monotonic_seconds() - begin;
}

void Stepper::recycle() {
  for (TakenBatch& taken : taken_) loader_.recycle(std::move(taken.batch));
  taken_.clear();
  trained_.clear();
}

double Stepper::learning_rate(std::int64_t steps_done) const {
  return optim::learning_rate(schedule_, steps_done, config_.train.steps);
}

Sign Stepper::update(StepReport& report) {
  const Span span(trace_, "optimizer", "compute");
  const double begin = monotonic_seconds();
  // The gradients are those of the sum of the losses: the mean comes in here, once, with the clipping.
  const double mean = 1.0 / static_cast<double>(report.samples);
  report.gradient_norm = learner_.gradient_norm(mean);
  report.overflow = learner_.meet_overflow(report.gradient_norm);
  report.loss_scale = learner_.loss_scale();
  if (!report.overflow.empty()) return Sign::gradient;
  report.anomaly = Guard::fault_of_gradient(report.gradient_norm);
  // An infinity would never leave the running statistics again.
  if (report.anomaly.empty() && !statistics_.finite(packet_.values(sample_count))) {
    report.anomaly = "the variance of a batch normalisation is not finite";
    return Sign::statistics;
  }
  if (!report.anomaly.empty()) return Sign::gradient;
  const double clip = optim::clip_coefficient(report.gradient_norm, config_.optim.clip_norm);
  learner_.update(report.learning_rate, mean * clip);
  report.loss_scale = learner_.loss_scale();
  statistics_.apply(packet_.values(sample_count));
  report.update_seconds = monotonic_seconds() - begin;
  report.compute_seconds += report.update_seconds;
  return Sign::gradient;
}

}  // namespace lockstep::train
