// When the GPU did what, for a trace: events with times before and behind pieces of work, read when they are
// done.
//
// The GPU's clock is put beside the host's without waiting. No event happens before it is queued, so the
// greatest difference between the host's time of queueing and the GPU's time bounds the clocks' difference
// from below; where the GPU was idle, as it is once in each step, it misses it by the microseconds of a
// launch. Times so shown are never before the call nor behind the truth, so no piece lies outside of what the
// host did for it.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace.h"
#include "device/cuda/event_pool.h"
#include "device/cuda/resources.h"

namespace lockstep::device::cuda {

// Off until start(). Of one thread, the device's. Its own faults end it and nothing else: who waits for the
// device hears of the device's.
class Timeline {
 public:
  // The trace must have a file, and outlive this.
  void start(Trace& trace, const Stream& compute) noexcept;

  // A row belongs to one stream; pieces of a row lie within or beside each other.
  void begin(Row row, std::string_view name, std::string_view category, cudaStream_t stream) noexcept;
  void end(Row row, cudaStream_t stream) noexcept;
  // Adds to the trace what the GPU is known to have done. Waits for nothing.
  void collect() noexcept;

 private:
  struct Place {  // of an event in its stream
    std::unique_ptr<Event> event;
    double queued = 0;  // monotonic_seconds() before the call
  };
  struct Piece {
    std::string name;
    std::string category;
    Place begin;
    Place end;  // without an event while work is being queued
  };
  struct Lane {
    std::deque<Piece> pieces;  // not yet added, in the order of their begins
    std::vector<Piece*> open;  // the innermost last
    double added_until = 0;    // on the host's clock
  };

  Place record(cudaStream_t stream);
  void collect_finished(std::vector<std::pair<Row, Piece>>& finished);
  void show(std::vector<std::pair<Row, Piece>>& finished);
  template <typename Step>
  void attempt(const Step& step) noexcept;

  Trace* trace_ = nullptr;  // null: off
  std::array<Lane, 3> lanes_;
  EventPool events_{true};
  // The event that others are timed by, and its place on the GPU's clock, which starts with start().
  std::unique_ptr<Event> reference_;
  double reference_seconds_ = 0;
  std::optional<double> host_minus_gpu_;  // at most the true difference
};

// One piece, of its own lifetime.
class Mark {
 public:
  Mark(Timeline& timeline, Row row, std::string_view name, std::string_view category, cudaStream_t stream)
      : timeline_(timeline), row_(row), stream_(stream) {
    timeline_.begin(row, name, category, stream);
  }
  ~Mark() { timeline_.end(row_, stream_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  Timeline& timeline_;
  Row row_;
  cudaStream_t stream_;
};

}  // namespace lockstep::device::cuda
