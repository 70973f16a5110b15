#include "device/stopwatch.h"

#include "core/clock.h"

namespace lockstep::device {

void HostStopwatch::start() noexcept {
  begin_ = monotonic_seconds();
}

void HostStopwatch::stop() noexcept {
  sum_ += monotonic_seconds() - begin_;
}

}  // namespace lockstep::device
