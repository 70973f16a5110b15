// The running statistics of batch normalisation over all ranks (contract C1).
#pragma once

#include <span>

#include "comm/step_packet.h"
#include "train/learner.h"

namespace lockstep::train {

// Each lane's micro-batch has statistics of its own. All ranks get all of them, attached to the step's
// packet, and apply them one after the other in the order of the lanes, as one process would that runs all
// micro-batches: the same bits for any number of ranks. Costs nothing for a model without such statistics.
class LaneStatistics {
 public:
  // Both must outlive it. The packet's lanes have learner.statistic_count() numbers attached.
  LaneStatistics(Learner& learner, comm::StepPacket& packet) : learner_(learner), packet_(packet) {}

  // Keeps those of a micro-batch, for one of this rank's lanes. Waits for the device.
  void record(int lane, const Trained& trained);
  // Once the packet is gathered, on all ranks alike: whether the running statistics would stay finite. Lanes
  // without samples have no part: `samples` holds each lane's number of samples.
  bool finite(std::span<const double> samples) const;
  void apply(std::span<const double> samples);

 private:
  Learner& learner_;
  comm::StepPacket& packet_;
};

}  // namespace lockstep::train
