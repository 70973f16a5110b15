#include "train/save_patience.h"

#include <algorithm>

namespace lockstep::train {

namespace {

constexpr int failures_at_least = 3;
// So many times checkpoint.minutes may be at stake.
constexpr double periods_at_stake = 2;
// Before a failed save by the clock is tried again.
constexpr double retry_minutes = 1;
// A grace time is short.
constexpr int tries_when_urged = 3;

}  // namespace

void SavePatience::saved(double now) {
  saved_at_ = now;
  failures_ = 0;
}

void SavePatience::failed(double now) {
  failed_at_ = now;
  ++failures_;
}

bool SavePatience::due(double now) const {
  if (minutes_ <= 0) return false;
  if (failures_ == 0) return now - saved_at_ > 60 * minutes_;
  return now - failed_at_ > 60 * std::min(minutes_, retry_minutes);
}

bool SavePatience::exhausted(double now) const {
  return failures_ >= failures_at_least && now - saved_at_ > 60 * periods_at_stake * minutes_;
}

bool LastSave::again(bool urged, double now) {
  return urged ? ++urged_tries_ < tries_when_urged : now + pause < until_;
}

}  // namespace lockstep::train
