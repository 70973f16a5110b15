// Training batches of a rank's lanes, read ahead in the background.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "core/lane_range.h"
#include "core/trace.h"
#include "data/augment.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/position.h"
#include "data/prefetcher.h"
#include "data/sampler.h"

namespace lockstep::data {

// Hands out the micro-batches of the lanes from a position on: all lanes of a step in order, then the next
// step, then the next epoch. It reads a window of a lane at once, and only of its own lanes.
class Loader {
 public:
  // Ends after `steps` steps: nothing is read for steps that will not be made.
  // `depth`: micro-batches kept ready. Memory: per lane one window of samples as they lie in the file, and
  // depth + 2 batches. Images are changed as `augment` says, keyed by the sampler's seed. What the thread
  // does goes into `trace`, unless it is null. Throws Error(bad_config) where the lanes or the position do
  // not exist, or the samples cannot be augmented.
  Loader(Dataset dataset, Sampler sampler, LaneRange lanes, Position start, std::size_t depth = 4,
         std::int64_t steps = std::numeric_limits<std::int64_t>::max(), const AugmentOptions& augment = {},
         Trace* trace = nullptr);
  // Ends the thread; waits for a read in progress only. Not to be called with the HDF5 lock held: that read
  // may be waiting for it.
  ~Loader();

  // The next micro-batch, or nothing when none became ready within `limit` or all have been taken. Throws
  // Error(bad_data), naming file and row, where the data cannot be read, a label is out of range or a sample
  // is not finite.
  std::optional<Batch> next(std::chrono::milliseconds limit);
  // Gives the buffers of a used batch back; optional, but it saves allocating new ones.
  void recycle(Batch&& batch);
  // Bytes taken from the shards since the start.
  std::int64_t bytes_read() const;

 private:
  class Producer;
  std::unique_ptr<Producer> producer_;
  Prefetcher prefetcher_;
};

}  // namespace lockstep::data
