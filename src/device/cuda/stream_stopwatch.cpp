#include "device/cuda/stream_stopwatch.h"

#include <exception>
#include <utility>

namespace lockstep::device::cuda {

template <typename Step>
void StreamStopwatch::attempt(const Step& step) noexcept {
  if (failed_) return;
  try {
    step();
  } catch (const std::exception&) {
    failed_ = true;
    cudaGetLastError();  // or the next launch would report it
  }
}

void StreamStopwatch::start() noexcept {
  attempt([&] { stretches_.push_back({events_.record(stream_), nullptr}); });
}

void StreamStopwatch::stop() noexcept {
  attempt([&] {
    if (!stretches_.empty()) stretches_.back().end = events_.record(stream_);
  });
}

// An event that the stream has not come to may be recorded anew.
void StreamStopwatch::restart() noexcept {
  sum_ = 0;
  attempt([&] {
    for (; !stretches_.empty(); stretches_.pop_front()) forget(stretches_.front());
  });
}

double StreamStopwatch::seconds() noexcept {
  attempt([&] {
    for (; !stretches_.empty(); stretches_.pop_front()) {
      Stretch& first = stretches_.front();
      if (!first.end || !first.end->done()) return;
      sum_ += first.end->seconds_since(*first.begin);
      forget(first);
    }
  });
  return sum_;
}

void StreamStopwatch::forget(Stretch& stretch) {
  events_.give_back(std::move(stretch.begin));
  if (stretch.end) events_.give_back(std::move(stretch.end));
}

}  // namespace lockstep::device::cuda
