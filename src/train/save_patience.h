// How long a run goes on although its checkpoints cannot be written: the rule of docs/errors.md. Times are
// monotonic_seconds(). The ranks decide by rank 0's.
#pragma once

namespace lockstep::train {

class SavePatience {
 public:
  // `minutes` is checkpoint.minutes, 0: no saves by the clock. `now` is when there is nothing to lose yet.
  SavePatience(double minutes, double now) : minutes_(minutes), saved_at_(now) {}

  void saved(double now);
  void failed(double now);

  // Is a save due by the clock? One that has failed is tried again sooner.
  bool due(double now) const;

  // Going on would only make what is lost grow: several saves in a row have failed, and the newest checkpoint
  // is old.
  bool exhausted(double now) const;

 private:
  double minutes_;
  double saved_at_;
  double failed_at_ = 0;
  int failures_ = 0;  // in a row
};

// The last save of an attempt decides whether its steps count, so it is tried again.
class LastSave {
 public:
  // Not urged by a stop request it may take `seconds`, from `now` on.
  LastSave(double seconds, double now) : until_(now + seconds) {}

  // After a try that failed: shall there be another one, after a pause?
  bool again(bool urged, double now);

  static constexpr double pause = 2;  // seconds

 private:
  double until_;
  int urged_tries_ = 0;
};

}  // namespace lockstep::train
