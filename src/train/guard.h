// Losses and gradients that a run must not learn from: not finite, or a spike. Decides from reduced values
// alone, so that all ranks decide the same (contract C8), and what it remembers is in the checkpoint, so that
// a preempted run decides like an undisturbed one (C1).
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/state.h"
#include "train/config.h"

namespace lockstep::train {

class Guard {
 public:
  // The recent mean is that of all accepted losses until there are so many, then an exponential mean in which
  // the newest counts 1/window. Until then nothing is a spike: the first losses fall too fast to judge.
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

  // Goes back to what `earlier` remembers; the row of anomalies goes on.
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
  std::int64_t in_a_row_ = 0;
};

}  // namespace lockstep::train
