// The sum of all lanes' gradients on every rank, in buckets: each is summed as soon as this rank's share of
// it is complete, while backward computes the next ones, or all of them afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/bucket_plan.h"
#include "comm/communicator.h"
#include "comm/tree.h"
#include "core/trace.h"
#include "device/device.h"

namespace lockstep::comm {

enum class ReduceMode {
  fast,   // one buffer per rank, the communicator's own order: the same for the same ranks and places
  exact,  // contract C2: the same bits for every number of ranks, any bucket size, overlapped or not
};

struct ReducerOptions {
  ReduceMode mode = ReduceMode::fast;
  int lanes = 1;
  std::int64_t bucket = 1 << 20;  // elements that are summed at once
  // What travels in fast mode between ranks: f32, or bf16 or f16. Then each rank's share is rounded once, and
  // the sum of what they sent once.
  device::DType wire = device::DType::f32;
  Trace* trace = nullptr;  // shows when the calling thread waits; null: none
};

// Rank r owns the lanes lanes_of(r, comm.size(), lanes). One step is, on every rank,
//
//   reducer->begin_step(present, overlap);
//   for each own lane that has samples, in rising order:
//     const auto place = reducer->begin_lane(lane);
//     backward into place.gradient, which calls reducer->finish_parameter(p) where p's gradient is final;
//     reducer->end_lane();
//   const device::Tensor sum = reducer->finish();
//
// or, where the step is given up, no further lane and abandon() in the place of finish(). Errors of
// communication are the communicator's, from any of these calls. Memory is taken in the first step and kept.
// Used by one thread, the device's.
class Reducer {
 public:
  // Where the gradient of a lane goes. Padding between the parameters is zero and stays so.
  struct Place {
    device::Tensor gradient;  // flat
    bool accumulate;          // add to what is there, else overwrite it
  };

  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;
  virtual ~Reducer() = default;

  // present[v]: whether lane v has samples in this step. Both are the same on every rank.
  void begin_step(std::span<const std::uint8_t> present, bool overlap);
  // Throws Error(internal) for a lane of another rank, without samples, or out of order.
  Place begin_lane(int lane);
  void finish_parameter(std::size_t parameter);
  void end_lane();
  // The sum over all lanes; zeros where no lane had samples. It stays until the next begin_step().
  // Collective. Throws Error(internal) where an own lane with samples is missing.
  device::Tensor finish();
  // In an overlapped step other ranks may have begun to send: makes the calls that they count on. Collective
  // then, else not.
  void abandon();

  bool overlaps() const { return overlap_; }
  // How long the device has waited for the peers since begin_step(), as far as that is known: all of it when
  // the device has been waited for (device/stopwatch.h).
  double seconds_waited() { return waits_->seconds(); }

 protected:
  Reducer(Communicator& comm, device::Device& device, const device::Tensor& gradient,
          std::span<const Slice> parameters, const ReducerOptions& options);

  virtual void prepare(std::span<const std::uint8_t> present) = 0;
  virtual Place open(int lane, bool last) = 0;
  virtual void close() = 0;  // of a lane that is not the last one
  // This rank brings zeros, or anything else of the right size. Before the last lane's open().
  virtual void give_up() = 0;
  // This rank's share of the bucket is complete. Once for each, in rising order.
  virtual void start(std::size_t bucket) = 0;
  // After all buckets were started.
  virtual device::Tensor complete() = 0;

  void wait(Pending& pending);

  Communicator& comm_;
  device::Device& device_;
  BucketPlan plan_;
  int lanes_;
  LaneRange block_;
  Trace* trace_;

 private:
  void start_up_to(std::size_t buckets);

  std::vector<std::uint8_t> present_;
  bool overlap_ = false;
  std::unique_ptr<device::Stopwatch> waits_;
  int next_lane_ = 0;
  int last_lane_ = -1;  // the last own lane with samples; -1: there is none
  bool in_last_ = false;
  std::size_t started_ = 0;  // buckets
};

// `comm` must outlive the reducer and be its own (duplicate()), and so must the device. `gradient`: a flat
// tensor of zeros, one of those that gradients will be in; parameters: where each lies in it. Throws
// Error(bad_config) for more ranks than lanes, Error(internal) for an exact sum of 16-bit values.
std::unique_ptr<Reducer> make_reducer(Communicator& comm, device::Device& device,
                                      const device::Tensor& gradient, std::span<const Slice> parameters,
                                      const ReducerOptions& options);

}  // namespace lockstep::comm
