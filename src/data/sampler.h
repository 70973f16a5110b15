// Which samples each lane takes at each step: a pure function of (seed, epoch, step, lane). Nothing here
// depends on the number of ranks, and any position is computed without the ones before it (contract C1).
//
// A lane is a virtual worker: it takes one micro-batch per step. An epoch has ceil(N / global_batch) steps
// and visits each of the N samples once; the last step deals what is left in lane order, so that some lanes
// get fewer samples or none (contract C3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace lockstep::data {

struct SamplerConfig {
  std::uint64_t seed = 0;
  std::int64_t global_batch = 1;       // samples per optimizer step
  std::int64_t micro_batch = 1;        // samples per lane and step; divides global_batch
  std::int64_t shuffle_window = 4096;  // samples that a lane mixes, and keeps in memory, at a time
};

// A run of consecutive blocks of a lane whose samples are mixed; its samples are the lane's positions
// [begin, begin + rows).
struct Window {
  std::int64_t begin = 0;
  std::int64_t rows = 0;
  std::vector<Block> blocks;         // in the epoch's order
  std::vector<std::uint32_t> order;  // order[i]: which sample of the concatenated blocks comes i-th
};

class EpochPlan;

class Sampler {
 public:
  // Throws Error(bad_config) where the batch sizes do not fit.
  Sampler(const Dataset& dataset, const SamplerConfig& config);
  Sampler(std::vector<Block> blocks, const SamplerConfig& config);

  std::int64_t samples() const { return samples_; }
  std::int64_t lanes() const { return config_.global_batch / config_.micro_batch; }
  std::int64_t steps_per_epoch() const;
  // True number of samples of a step, over all lanes and in one lane. step is counted within the epoch.
  std::int64_t step_samples(std::int64_t step) const;
  std::int64_t lane_samples(std::int64_t step, std::int64_t lane) const;
  // Samples that a lane takes in a whole epoch.
  std::int64_t lane_total(std::int64_t lane) const;
  const SamplerConfig& config() const { return config_; }

  // The order of one epoch, which keeps a pointer to this Sampler.
  EpochPlan plan(std::int64_t epoch) const;

 private:
  friend class EpochPlan;
  std::int64_t window_blocks() const;

  std::vector<Block> blocks_;
  SamplerConfig config_;
  std::int64_t samples_ = 0;
  std::int64_t largest_block_ = 0;
};

// The order of one epoch. Keeps a pointer to its Sampler, which must outlive it.
class EpochPlan {
 public:
  std::int64_t epoch() const { return epoch_; }

  // The global ids of one micro-batch, in order; empty where the lane has no sample in this step.
  std::vector<std::int64_t> ids(std::int64_t step, std::int64_t lane) const;

  // The window that holds a lane's position; 0 <= position < lane_total(lane).
  Window window(std::int64_t lane, std::int64_t position) const;

 private:
  friend class Sampler;
  EpochPlan(const Sampler& sampler, std::int64_t epoch);

  const Sampler* sampler_;
  std::int64_t epoch_ = 0;
  std::vector<std::uint32_t> order_;      // shuffled block numbers
  std::vector<std::int64_t> ends_;        // samples in the first i + 1 shuffled blocks
  std::vector<std::int64_t> lane_begin_;  // first sample of each lane in the shuffled sequence; V + 1 values
};

// The sample ids of blocks, one after the other.
std::vector<std::int64_t> ids_of(std::span<const Block> blocks);

}  // namespace lockstep::data
