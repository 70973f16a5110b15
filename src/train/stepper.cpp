#include "train/stepper.h"

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

Stepper::Stepper(const Config& config, Learner& learner, data::Loader& loader, comm::Group& comm,
                 comm::Reducer& reducer, const Guard& guard, Clock clock, Trace* trace)
    : config_(config),
      learner_(learner),
      loader_(loader),
      comm_(comm),
      reducer_(reducer),
      guard_(guard),
      clock_(std::move(clock)),
      trace_(trace),
      lanes_(comm::lanes_of(comm.rank(), comm.size(), static_cast<int>(config.virtual_workers()))),
      packet_(static_cast<int>(config.virtual_workers()), quantities, flags),
      statistics_(learner, comm, static_cast<int>(config.virtual_workers())),
      schedule_(schedule_of(config.optim)) {}

StopVotes Stepper::compute(std::int64_t steps_done, StepReport& report) {
  bool accumulate = false;
  for (int lane = lanes_.first; lane < lanes_.last; ++lane) {
    const double asked = monotonic_seconds();
    std::optional<data::Batch> batch;
    {
      const Span span(trace_, "data wait", "data");
      while (!batch) {
        batch = loader_.next(look_up);
        if (batch) break;
        if (const StopVotes votes = local_votes(clock_.deadline_near()); any(votes)) return votes;
      }
    }
    const double ready = monotonic_seconds();
    report.data_seconds += ready - asked;
    double loss = 0;
    if (batch->size > 0) {
      const BatchResult result = learner_.train(*batch, steps_done, accumulate);
      statistics_.record(lane);
      loss = result.loss / static_cast<double>(batch->size);
      packet_.set(loss_sum, lane, result.loss);
      packet_.set(correct_count, lane, static_cast<double>(result.correct));
      packet_.set(sample_count, lane, static_cast<double>(batch->size));
      if (reducer_.wants_each_lane()) {
        const Span span(trace_, "add to the tree", "reduction");
        const auto gradients = learner_.gradients();
        reducer_.add(lane, gradients);
      } else {
        accumulate = true;
      }
    }
    taken_.push_back({std::move(*batch), loss});
    report.compute_seconds += monotonic_seconds() - ready;
  }
  // A rank without samples in a short last step brings zeros to the sum.
  if (!reducer_.wants_each_lane() && !accumulate) learner_.zero_gradients();
  return {};
}

StepReport Stepper::run(std::int64_t steps_done) {
  StepReport report;
  const Span span(trace_, "step", "step", steps_done + 1);
  const double begin = monotonic_seconds();
  packet_.clear();
  reducer_.begin_step();
  StopVotes mine = compute(steps_done, report);
  if (any(mine)) {
    packet_.raise(abandon_flag);
  } else {
    mine = local_votes(clock_.deadline_near());
  }
  for (std::size_t i = 0; i < stop_causes; ++i) {
    if (mine[i] != 0) packet_.raise(i);
  }
  if (clock_.save_due()) packet_.raise(save_flag);
  const double at = monotonic_seconds();
  {
    const Span agreement(trace_, "agreement", "reduction");
    packet_.reduce(comm_);
  }
  report.communication_seconds += monotonic_seconds() - at;
  for (std::size_t i = 0; i < stop_causes; ++i) report.votes[i] = packet_.raised(i);
  report.save_due = packet_.raised(save_flag) > 0;
  report.abandoned = packet_.raised(abandon_flag) > 0;
  if (report.abandoned) {
    recycle();
    return report;
  }

  report.samples = std::llround(packet_.sum(sample_count));
  report.loss = packet_.sum(loss_sum) / static_cast<double>(report.samples);
  if (learner_.counts_correct()) {
    report.accuracy = packet_.sum(correct_count) / static_cast<double>(report.samples);
  }
  report.learning_rate = learning_rate(steps_done);
  report.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  report.anomaly = guard_.fault_of_loss(report.loss);
  Sign sign = Sign::loss;
  if (report.anomaly.empty()) {
    sum_gradients(report);
    sign = update(report);
  }
  if (!report.anomaly.empty()) {
    const Suspects mine = find_suspects(learner_, taken_, guard_, sign, steps_done);
    report.suspects = gather_suspects(comm_, mine);
  }
  recycle();
  report.seconds = monotonic_seconds() - begin;
  return report;
}

void Stepper::sum_gradients(StepReport& report) {
  const double begin = monotonic_seconds();
  const Span reduction(trace_, "reduction", "reduction");
  const auto gradients = learner_.gradients();
  reducer_.finish(gradients);
  statistics_.gather();
  report.communication_seconds += monotonic_seconds() - begin;
}

void Stepper::recycle() {
  for (TakenBatch& taken : taken_) loader_.recycle(std::move(taken.batch));
  taken_.clear();
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
  report.anomaly = Guard::fault_of_gradient(report.gradient_norm);
  // An infinity would never leave the running statistics again.
  if (report.anomaly.empty() && !statistics_.finite(packet_.values(sample_count))) {
    report.anomaly = "the variance of a batch normalisation is not finite";
    return Sign::statistics;
  }
  if (!report.anomaly.empty()) return Sign::gradient;
  const double clip = optim::clip_coefficient(report.gradient_norm, config_.optim.clip_norm);
  learner_.update(report.learning_rate, mean * clip);
  statistics_.apply(packet_.values(sample_count));
  report.update_seconds = monotonic_seconds() - begin;
  report.compute_seconds += report.update_seconds;
  return Sign::gradient;
}

}  // namespace lockstep::train
