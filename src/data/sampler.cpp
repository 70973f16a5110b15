#include "data/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/philox.h"

namespace lockstep::data {

namespace {

// Fisher-Yates; the stream's key makes it the same everywhere.
void shuffle(std::vector<std::uint32_t>& values, PhiloxStream stream) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[stream.below(static_cast<std::uint32_t>(i))]);
  }
}

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

}  // namespace

Sampler::Sampler(const Dataset& dataset, const SamplerConfig& config) : Sampler(dataset.blocks(), config) {}

Sampler::Sampler(std::vector<Block> blocks, const SamplerConfig& config)
    : blocks_(std::move(blocks)), config_(config) {
  if (config.micro_batch < 1 || config.global_batch < 1 || config.global_batch % config.micro_batch != 0) {
    throw Error(
        ExitCode::bad_config,
        fmt::format("global_batch {} is not a multiple of micro_batch {}; both count samples, at least 1",
                    config.global_batch, config.micro_batch));
  }
  if (config.shuffle_window < 1) {
    throw Error(ExitCode::bad_config,
                fmt::format("shuffle_window is {}, wanted at least 1 sample", config.shuffle_window));
  }
  for (const Block& block : blocks_) {
    samples_ += block.rows;
    largest_block_ = std::max(largest_block_, block.rows);
  }
}

std::int64_t Sampler::steps_per_epoch() const {
  return (samples_ + config_.global_batch - 1) / config_.global_batch;
}

std::int64_t Sampler::step_samples(std::int64_t step) const {
  return std::clamp<std::int64_t>(samples_ - step * config_.global_batch, 0, config_.global_batch);
}

std::int64_t Sampler::lane_samples(std::int64_t step, std::int64_t lane) const {
  return std::clamp<std::int64_t>(step_samples(step) - lane * config_.micro_batch, 0, config_.micro_batch);
}

std::int64_t Sampler::lane_total(std::int64_t lane) const {
  const std::int64_t full_steps = samples_ / config_.global_batch;
  return full_steps * config_.micro_batch + lane_samples(full_steps, lane);
}

std::int64_t Sampler::window_blocks() const {
  return std::max<std::int64_t>(1, config_.shuffle_window / std::max<std::int64_t>(1, largest_block_));
}

EpochPlan Sampler::plan(std::int64_t epoch) const {
  return EpochPlan(*this, epoch);
}

EpochPlan::EpochPlan(const Sampler& sampler, std::int64_t epoch)
    : sampler_(&sampler), epoch_(epoch), order_(counted(sampler.blocks_.size())) {
  shuffle(order_,
          PhiloxStream(sampler.config_.seed, Purpose::shard_shuffle, static_cast<std::uint64_t>(epoch)));
  std::int64_t end = 0;
  ends_.reserve(order_.size());
  for (const std::uint32_t block : order_) ends_.push_back(end += sampler.blocks_[block].rows);
  std::int64_t begin = 0;
  for (std::int64_t lane = 0; lane < sampler.lanes(); ++lane) {
    lane_begin_.push_back(begin);
    begin += sampler.lane_total(lane);
  }
  lane_begin_.push_back(begin);
}

Window EpochPlan::window(std::int64_t lane, std::int64_t position) const {
  const std::int64_t lane_begin = lane_begin_[static_cast<std::size_t>(lane)];
  const std::int64_t lane_end = lane_begin_[static_cast<std::size_t>(lane) + 1];
  const auto block_at = [this](std::int64_t sample) {
    return std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin();
  };
  const std::int64_t per_window = sampler_->window_blocks();
  const std::int64_t first_of_lane = block_at(lane_begin);
  const std::int64_t number = (block_at(lane_begin + position) - first_of_lane) / per_window;

  Window window;
  std::int64_t block = first_of_lane + number * per_window;
  const std::int64_t last = std::min(block + per_window, static_cast<std::int64_t>(ends_.size()));
  std::int64_t begin = 0;  // in the shuffled sequence
  for (; block < last; ++block) {
    const Block& whole = sampler_->blocks_[order_[static_cast<std::size_t>(block)]];
    const std::int64_t block_end = ends_[static_cast<std::size_t>(block)];
    const std::int64_t block_begin = block_end - whole.rows;
    // Only the part of the block that is this lane's.
    const std::int64_t from = std::max(block_begin, lane_begin);
    const std::int64_t to = std::min(block_end, lane_end);
    if (from >= to) break;
    if (window.blocks.empty()) begin = from;
    window.blocks.push_back({whole.first_id + (from - block_begin), to - from});
    window.rows += to - from;
  }
  window.begin = begin - lane_begin;
  window.order = counted(static_cast<std::size_t>(window.rows));
  // Lane and epoch share one counter word pair: both stay far below 2^32.
  const std::uint64_t stream = (static_cast<std::uint64_t>(epoch_) << 32) | static_cast<std::uint64_t>(lane);
  shuffle(window.order, PhiloxStream(sampler_->config_.seed, Purpose::window_shuffle, stream,
                                     static_cast<std::uint32_t>(number)));
  return window;
}

std::vector<std::int64_t> EpochPlan::ids(std::int64_t step, std::int64_t lane) const {
  std::vector<std::int64_t> ids;
  const std::int64_t begin = step * sampler_->config_.micro_batch;
  const std::int64_t end = begin + sampler_->lane_samples(step, lane);
  for (std::int64_t position = begin; position < end;) {
    const Window window = this->window(lane, position);
    const std::vector<std::int64_t> all = ids_of(window.blocks);
    const std::int64_t stop = std::min(end, window.begin + window.rows);
    for (; position < stop; ++position) {
      ids.push_back(all[window.order[static_cast<std::size_t>(position - window.begin)]]);
    }
  }
  return ids;
}

std::vector<std::int64_t> ids_of(std::span<const Block> blocks) {
  std::vector<std::int64_t> ids;
  for (const Block& block : blocks) {
    for (std::int64_t i = 0; i < block.rows; ++i) ids.push_back(block.first_id + i);
  }
  return ids;
}

}  // namespace lockstep::data
