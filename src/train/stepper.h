// One optimizer step: this rank's micro-batches, what the ranks tell each other, and the update.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/group.h"
#include "comm/reducer.h"
#include "comm/step_packet.h"
#include "core/trace.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "optim/schedule.h"
#include "train/batches_ahead.h"
#include "train/config.h"
#include "train/guard.h"
#include "train/lane_statistics.h"
#include "train/learner.h"
#include "train/overlap.h"
#include "train/stop.h"
#include "train/suspects.h"

namespace lockstep::train {

struct StepReport {
  // True where a rank had to stop while it waited for data: nothing was changed, the step was not made.
  bool abandoned = false;
  StopVotes votes{};      // over all ranks
  bool save_due = false;  // rank 0's clock says that a checkpoint is due
  std::int64_t samples = 0;
  double loss = 0;  // mean over the samples of the global batch
  // On the batch, before the update; none where the targets are numbers.
  std::optional<double> accuracy;
  double learning_rate = 0;
  double gradient_norm = 0;          // of the mean gradient, before clipping; NaN where it was not computed
  std::optional<double> loss_scale;  // fp16, after the step
  // What the loss scale did where gradients have overflowed: the step was made without an update. Else empty.
  std::string overflow;
  // Why the guard refused the step, decided from reduced values (C8): nothing was changed. Else empty.
  std::string anomaly;
  Suspects suspects;  // then: the samples that it may be due to
  // Of this rank, in seconds: what its device had to wait for, and the rest of the step's own work.
  double data_seconds = 0;  // for micro-batches, on a GPU with their way there
  double compute_seconds = 0;
  double update_seconds = 0;         // the part of compute_seconds that does not depend on the rank's lanes
  double communication_seconds = 0;  // for sums and for other ranks
  double seconds = 0;
  std::optional<std::string> overlap;  // what the trial of both ways has found, in the step that ends it
};

// What rank 0's clock says, asked in each step and told to all; false on other ranks.
struct Clock {
  std::function<bool()> deadline_near;
  std::function<bool()> save_due;
};

class Stepper {
 public:
  // All references must outlive the stepper. `sampler` is the loader's. `comm` is for the step's small
  // collectives; the reducer has its own communicator. `trace` may be null.
  Stepper(const Config& config, Learner& learner, data::Loader& loader, data::Sampler sampler,
          comm::Group& comm, comm::Reducer& reducer, const Guard& guard, Clock clock, Trace* trace);

  // The step after `steps_done` steps, whose samples are those of `at`. Collective.
  StepReport run(std::int64_t steps_done, const data::Position& at);

  // Of that step.
  double learning_rate(std::int64_t steps_done) const;

 private:
  // Runs this rank's lanes. Any votes are those that came while waiting for data and made it give the step
  // up; they stay, whatever the clock says afterwards.
  StopVotes compute(std::int64_t steps_done, StepReport& report);
  // The next micro-batch, there for the device; or nothing, and the votes.
  std::optional<BatchesAhead::SentBatch> await_batch(StopVotes& votes);
  void train_lane(int lane, const BatchesAhead::SentBatch& lane_batch, std::int64_t steps_done);
  // Of all lanes that have run, into the packet.
  void read_results();
  // What the ranks tell each other, into the report.
  void agree(StopVotes mine, StepReport& report);
  // What the loss and the counts of all lanes come to.
  void report_loss(std::int64_t steps_done, StepReport& report) const;
  // Replaces the gradients by their sum over all ranks.
  void sum_gradients(StepReport& report);
  // By what an anomaly showed, where there was one.
  Sign update(StepReport& report);
  void recycle();

  const Config& config_;
  Learner& learner_;
  data::Loader& loader_;
  BatchesAhead ahead_;
  data::Sampler sampler_;
  comm::Group& comm_;
  comm::Reducer& reducer_;
  const Guard& guard_;
  Clock clock_;
  Trace* trace_;
  LaneRange lanes_;
  // Of the present step. Kept until it is decided: a small part of what the loader holds for these lanes.
  std::vector<TakenBatch> taken_;
  std::vector<Trained> trained_;  // of those with samples
  comm::StepPacket packet_;
  LaneStatistics statistics_;
  optim::ScheduleOptions schedule_;
  std::unique_ptr<device::Stopwatch> data_waits_;  // of the present step
  Overlap overlap_;
  std::vector<std::uint8_t> present_;  // by lane: whether it has samples in the present step
};

}  // namespace lockstep::train
