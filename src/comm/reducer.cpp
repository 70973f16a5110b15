#include "comm/reducer.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/exact_reducer.h"
#include "comm/fast_reducer.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

// Buckets of whole cache lines for each rank, so that slices are equal but in the last one.
std::int64_t whole_slices(std::int64_t bucket, int ranks, device::DType wire) {
  const std::int64_t line = 64 / static_cast<std::int64_t>(size_of(wire));
  const std::int64_t granule = line * ranks;
  return std::max(granule, bucket / granule * granule);
}

}  // namespace

Reducer::Reducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
                 std::span<const Slice> parameters, const ReducerOptions& options)
    : comm_(comm),
      device_(device),
      plan_(parameters, gradient.count(), whole_slices(options.bucket, comm.size(), options.wire)),
      lanes_(options.lanes),
      block_(lanes_of(comm.rank(), comm.size(), options.lanes)),
      trace_(options.trace),
      waits_(device.make_stopwatch()) {}

void Reducer::begin_step(std::span<const std::uint8_t> present, bool overlap) {
  if (static_cast<int>(present.size()) != lanes_) {
    throw Error(ExitCode::internal, "a step has another number of lanes than its reducer");
  }
  present_.assign(present.begin(), present.end());
  overlap_ = overlap && comm_.size() > 1;
  comm_.set_background(overlap_);
  waits_->restart();
  started_ = 0;
  plan_.restart();
  in_last_ = false;
  next_lane_ = block_.first;
  last_lane_ = -1;
  for (int lane = block_.first; lane < block_.last; ++lane) {
    if (present_[static_cast<std::size_t>(lane)] != 0) last_lane_ = lane;
  }
  prepare(present_);
}

Reducer::Place Reducer::begin_lane(int lane) {
  if (lane < next_lane_ || lane >= block_.last || present_[static_cast<std::size_t>(lane)] == 0) {
    throw Error(ExitCode::internal,
                fmt::format("gradient of lane {} on rank {}, which expects those with samples of {} to {}",
                            lane, comm_.rank(), next_lane_, block_.last - 1));
  }
  next_lane_ = lane + 1;
  in_last_ = lane == last_lane_;
  return open(lane, in_last_);
}

void Reducer::finish_parameter(std::size_t parameter) {
  if (in_last_ && overlap_) start_up_to(plan_.finish(parameter));
}

void Reducer::end_lane() {
  if (!in_last_) close();
}

device::Tensor Reducer::finish() {
  if (last_lane_ >= 0 && !in_last_) {
    throw Error(ExitCode::internal,
                fmt::format("rank {} misses the gradient of lane {}", comm_.rank(), last_lane_));
  }
  start_up_to(plan_.buckets().size());
  return complete();
}

void Reducer::abandon() {
  if (!overlap_) return;
  if (!in_last_) give_up();
  start_up_to(plan_.buckets().size());
  complete();
}

void Reducer::start_up_to(std::size_t buckets) {
  while (started_ < buckets) start(started_++);
}

void Reducer::wait(Pending& pending) {
  if (pending.done()) return;
  const Span span(trace_, "wait for the sum", "reduction");
  const device::Stopwatch::Stretch stretch(*waits_);
  pending.wait();
}

std::unique_ptr<Reducer> make_reducer(Communicator& comm, device::Device& device,
                                      const device::Tensor& gradient, std::span<const Slice> parameters,
                                      const ReducerOptions& options) {
  if (comm.size() > options.lanes) {
    throw Error(ExitCode::bad_config,
                fmt::format("{} ranks for {} lanes (global_batch / micro_batch): use at most {} ranks",
                            comm.size(), options.lanes, options.lanes));
  }
  if (options.mode == ReduceMode::exact) {
    if (options.wire != device::DType::f32) {
      throw Error(ExitCode::internal,
                  fmt::format("exact sums of {}: they are made of f32 alone", name_of(options.wire)));
    }
    return std::make_unique<ExactReducer>(comm, device, gradient, parameters, options);
  }
  return std::make_unique<FastReducer>(comm, device, gradient, parameters, options);
}

}  // namespace lockstep::comm
