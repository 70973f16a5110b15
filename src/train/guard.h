// Losses and gradients that a run must not learn from: not finite, or a spike. Decides from reduced values
// alone, so that all ranks decide the same (contract C8), and what it remembers is in the checkpoint, so that
// a preempted run decides like an undisturbed one (C1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/state.h"
#include "train/config.h"

namespace lockstep::train {

class Guard {
 public:
  // Until so many losses have been accepted nothing is a spike: the first ones fall too fast to judge. So bad
  // ones may be among them: the recent mean begins as the median of all of these, which some outliers do not
  // move, and goes on as an exponential mean in which the newest counts 1/window.
  static constexpr std::int64_t window = 20;

  explicit Guard(const Config::Guard& config) : config_(config) {}

  // What is wrong, as "the loss is nan"; empty where nothing is. NaN compares false with everything, so only
  // what is proved to be in order passes.
  std::string fault_of_loss(double loss) const;
  static std::string fault_of_gradient(double norm);
  // A micro-batch by its mean loss: may it be what makes the batch bad?
  bool stands_out(double loss) const;

  // The step was used for an update: its loss enters the mean, the row of anomalies ends.
  void accept(double loss);
  // The step was not used. Throws AgreedError(bad_config) where these are more in a row than the
  // configuration allows; `what` says what is wrong with this one.
  void reject(std::int64_t step, const std::string& what);

  // The run is about to go back from `step` to the parameters of the step `aim`. Throws
  // AgreedError(bad_config) where it has gone back to these too often already: though steps pass, and good
  // ones between the bad, all that it learns is lost again.
  void count_rollback(std::int64_t step, const std::string& what, std::int64_t aim);
  // Goes back to what `earlier` remembers of the losses; the row of anomalies and the count of rollbacks go
  // on.
  void roll_back_to(const Guard& earlier);

  // Of the losses that were accepted lately; NaN before the first.
  double mean() const;
  std::int64_t in_a_row() const { return in_a_row_; }

  // In a checkpoint. One without them, of an earlier version, leaves the guard as it is.
  void write(checkpoint::State& state) const;
  void read(const checkpoint::State& state);

 private:
  bool is_spike(double loss) const;

  Config::Guard config_;
  double mean_ = 0;
  std::int64_t accepted_ = 0;
  std::vector<double> first_;  // the accepted losses, until there are enough for the mean
  std::int64_t in_a_row_ = 0;
  std::int64_t rollbacks_ = 0;     // one after the other to the step below
  std::int64_t rollback_aim_ = 0;  // of the last rollback
};

}  // namespace lockstep::train
