// Tells when the loss has not improved for a set time. By one rank's clock: it changes no result.
#pragma once

#include <limits>

namespace lockstep::train {

class StallAlarm {
 public:
  // `seconds` without improvement until the alarm, and between two of them; 0: never. `now` is the start.
  StallAlarm(double seconds, double now) : seconds_(seconds), improved_at_(now), told_at_(now) {}

  // After each step, with the recent mean of the loss (NaN: none yet). True where an alert is due now.
  bool due(double mean, double now) {
    if (mean < best_) {
      best_ = mean;
      improved_at_ = told_at_ = now;
    }
    if (!(seconds_ > 0) || now - told_at_ < seconds_) return false;
    told_at_ = now;
    return true;
  }

  double seconds_without_improvement(double now) const { return now - improved_at_; }
  double best() const { return best_; }

 private:
  double seconds_;
  double improved_at_;
  double told_at_;
  double best_ = std::numeric_limits<double>::infinity();
};

}  // namespace lockstep::train
