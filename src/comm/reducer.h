// The sum of all lanes' gradients on every rank.
#pragma once

#include <memory>

#include "comm/group.h"
#include "comm/tree.h"

namespace lockstep::comm {

enum class ReduceMode {
  fast,   // one buffer per rank, MPI's own order: the same for the same number of ranks
  exact,  // contract C2: the same bits for every number of ranks
};

// A gradient is a list of groups (flat f32 buffers); sizes and order are the same in every call and on every
// rank. Rank r owns the lanes lanes_of(r, comm.size(), lanes). One step is
//
//   reducer->begin_step();
//   for each own lane that has samples, in rising order:
//     if (reducer->wants_each_lane()) zero the gradients;
//     backward;                                              // adds to the gradients
//     if (reducer->wants_each_lane()) reducer->add(lane, gradients);
//   reducer->finish(gradients);                              // collective
//
// Memory is taken in the first step and kept.
class Reducer {
 public:
  using Groups = std::span<const std::span<float>>;

  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;
  virtual ~Reducer() = default;

  // False: gradients accumulate over the rank's lanes in the caller's buffers; add() is not called.
  virtual bool wants_each_lane() const = 0;
  virtual void begin_step() = 0;
  // Takes a copy of the lane's gradient. Throws Error(internal) for a lane of another rank or out of order.
  virtual void add(int lane, Groups gradient) = 0;
  // Replaces `gradient` by the sum over all lanes; zeros where no lane had samples. In fast mode a rank that
  // had no samples brings zeros. Collective.
  virtual void finish(Groups gradient) = 0;

 protected:
  Reducer() = default;
};

// `comm` must outlive the reducer and be its own (duplicate()). Throws Error(bad_config) for more ranks than
// lanes.
std::unique_ptr<Reducer> make_reducer(ReduceMode mode, Group& comm, int lanes);

}  // namespace lockstep::comm
