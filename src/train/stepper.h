// One optimizer step: this rank's micro-batches, what the ranks tell each other, and the update.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "comm/reducer.h"
#include "comm/step_packet.h"
#include "core/trace.h"
#include "data/loader.h"
#include "optim/schedule.h"
#include "train/config.h"
#include "train/learner.h"
#include "train/stop.h"
#include "train/watchdog.h"

namespace lockstep::train {

struct StepReport {
  // True where a rank had to stop while it waited for data: nothing was changed, the step was not made.
  bool abandoned = false;
  StopVotes votes{};      // over all ranks
  bool save_due = false;  // rank 0's clock says that a checkpoint is due
  std::int64_t samples = 0;
  double loss = 0;      // mean over the samples of the global batch
  double accuracy = 0;  // on the batch, before the update
  double learning_rate = 0;
  double gradient_norm = 0;  // of the mean gradient, before clipping
  // Of this rank, in seconds.
  double data_seconds = 0;
  double compute_seconds = 0;
  double communication_seconds = 0;
  double seconds = 0;
};

// What rank 0's clock says, asked in each step and told to all; false on other ranks.
struct Clock {
  std::function<bool()> deadline_near;
  std::function<bool()> save_due;
};

class Stepper {
 public:
  // All references must outlive the stepper. `comm` is for the step's small collectives; the reducer has its
  // own communicator. `trace` may be null.
  Stepper(const Config& config, Learner& learner, data::Loader& loader, comm::Communicator& comm,
          comm::Reducer& reducer, Watchdog& watchdog, Clock clock, Trace* trace);

  // The step after `steps_done` steps. Collective. Throws Error(bad_config) on every rank where the loss or
  // the gradient is not finite: decided from the reduced values (C8), and before anything was changed.
  StepReport run(std::int64_t steps_done);

 private:
  // Runs this rank's lanes; false where a stop request came while waiting for data.
  bool compute(std::int64_t steps_done, StepReport& report);
  void update(std::int64_t steps_done, StepReport& report);

  const Config& config_;
  Learner& learner_;
  data::Loader& loader_;
  comm::Communicator& comm_;
  comm::Reducer& reducer_;
  Watchdog& watchdog_;
  Clock clock_;
  Trace* trace_;
  comm::LaneRange lanes_;
  comm::StepPacket packet_;
  optim::ScheduleOptions schedule_;
};

}  // namespace lockstep::train
