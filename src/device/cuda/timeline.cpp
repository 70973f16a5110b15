#include "device/cuda/timeline.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/clock.h"

namespace lockstep::device::cuda {

namespace {

// More than two quartz clocks drift apart.
constexpr double drift = 1e-4;
// What waits to be read before it is looked at within a span too.
constexpr std::size_t many = 256;

std::size_t place_of(Row row) {
  return static_cast<std::size_t>(row) - static_cast<std::size_t>(Row::gpu_compute);
}

}  // namespace

template <typename Step>
void Timeline::attempt(const Step& step) noexcept {
  if (trace_ == nullptr) return;
  try {
    step();
  } catch (const std::exception&) {
    trace_ = nullptr;
    cudaGetLastError();  // or the next launch would report it
  }
}

void Timeline::start(Trace& trace, const Stream& compute) noexcept {
  trace_ = &trace;
  attempt([&] {
    trace_->name_gpu_rows();
    reference_ = std::make_unique<Event>(true);
    reference_->record(compute);
  });
}

Timeline::Place Timeline::record(cudaStream_t stream) {
  const double queued = monotonic_seconds();
  return {events_.record(stream), queued};
}

void Timeline::begin(Row row, std::string_view name, std::string_view category,
                     cudaStream_t stream) noexcept {
  attempt([&] {
    Lane& lane = lanes_.at(place_of(row));
    lane.pieces.push_back({std::string(name), std::string(category), record(stream), {}});
    lane.open.push_back(&lane.pieces.back());
  });
}

void Timeline::end(Row row, cudaStream_t stream) noexcept {
  attempt([&] {
    Lane& lane = lanes_.at(place_of(row));
    if (lane.open.empty()) return;  // it began before start()
    lane.open.back()->end = record(stream);
    lane.open.pop_back();
    if (lane.pieces.size() >= many) collect();
  });
}

void Timeline::collect() noexcept {
  attempt([&] {
    if (!reference_->done()) return;
    std::vector<std::pair<Row, Piece>> finished;
    collect_finished(finished);
    if (!finished.empty()) show(finished);
  });
}

void Timeline::collect_finished(std::vector<std::pair<Row, Piece>>& finished) {
  for (const Row row : {Row::gpu_compute, Row::gpu_communication, Row::gpu_copies}) {
    auto& pieces = lanes_.at(place_of(row)).pieces;
    while (!pieces.empty() && pieces.front().end.event && pieces.front().end.event->done()) {
      finished.emplace_back(row, std::move(pieces.front()));
      pieces.pop_front();
    }
  }
}

void Timeline::show(std::vector<std::pair<Row, Piece>>& finished) {
  struct Times {  // on the GPU's clock
    double begin, end;
  };
  std::vector<Times> times;
  for (const auto& [row, piece] : finished) {
    times.push_back({reference_seconds_ + piece.begin.event->seconds_since(*reference_),
                     reference_seconds_ + piece.end.event->seconds_since(*reference_)});
  }
  const double now = times.back().end;
  // As much as the clocks may have drifted since; what is queued on an idle GPU lifts it again.
  if (host_minus_gpu_) *host_minus_gpu_ -= drift * std::max(0., now - reference_seconds_);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Piece& piece = finished[i].second;
    const double least = std::max(piece.begin.queued - times[i].begin, piece.end.queued - times[i].end);
    host_minus_gpu_ = std::max(host_minus_gpu_.value_or(least), least);
  }
  const std::array<double, 3> added_until{lanes_[0].added_until, lanes_[1].added_until,
                                          lanes_[2].added_until};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& [row, piece] = finished[i];
    const std::size_t lane = place_of(row);
    const double begin = std::max(added_until[lane], times[i].begin + *host_minus_gpu_);
    const double end = std::max(begin, times[i].end + *host_minus_gpu_);
    trace_->add(piece.name, piece.category, row, begin, end);
    lanes_[lane].added_until = std::max(lanes_[lane].added_until, end);
  }
  // Times are floats of milliseconds: exact only while the reference is near.
  reference_seconds_ = now;
  std::swap(reference_, finished.back().second.end.event);
  for (auto& [row, piece] : finished) {
    events_.give_back(std::move(piece.begin.event));
    events_.give_back(std::move(piece.end.event));
  }
}

}  // namespace lockstep::device::cuda
