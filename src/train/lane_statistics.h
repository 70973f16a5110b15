// The running statistics of batch normalisation over all ranks (contract C1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/group.h"
#include "comm/tree.h"
#include "train/learner.h"

namespace lockstep::train {

// Each lane's micro-batch has statistics of its own. All ranks get all of them and apply them one after the
// other in the order of the lanes, as one process would that runs all micro-batches: the same bits for any
// number of ranks. Costs nothing for a model without such statistics.
class LaneStatistics {
 public:
  // Both must outlive it.
  LaneStatistics(Learner& learner, comm::Group& comm, int lanes);

  // Keeps those of the micro-batch that the learner has just trained on, for one of this rank's lanes.
  void record(int lane);
  // Collective.
  void gather();
  // After gather(), on all ranks alike: whether the running statistics would stay finite.
  bool finite(std::span<const double> samples) const;
  // After gather(). Lanes without samples have no part: `samples` holds each lane's number of samples.
  void apply(std::span<const double> samples);

 private:
  std::span<float> of_lane(int lane);

  Learner& learner_;
  comm::Group& comm_;
  std::size_t count_;                 // per lane
  std::vector<std::int64_t> counts_;  // by rank
  std::vector<float> values_;         // [lane][count]
};

}  // namespace lockstep::train
