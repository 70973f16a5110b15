// Micro-batches on their way to the device before their turn comes.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

#include "data/loader.h"
#include "train/learner.h"

namespace lockstep::train {

class BatchesAhead {
 public:
  // Both must outlive this, and the loader hands out its batches to nobody else.
  BatchesAhead(Learner& learner, data::Loader& loader) : learner_(learner), loader_(loader) {}

  struct SentBatch {
    data::Batch batch;
    Learner::Sent sent;  // nothing where the batch has no samples
  };
  // The next micro-batch, or nothing where none became ready within `limit`.
  std::optional<SentBatch> next(std::chrono::milliseconds limit);

  // Sends those that are ready, so that two are on their way while the device computes; none to a device that
  // does not copy beside its computations.
  void fill();

 private:
  std::optional<SentBatch> take(std::chrono::milliseconds limit);

  Learner& learner_;
  data::Loader& loader_;
  std::deque<SentBatch> sent_;
};

}  // namespace lockstep::train
