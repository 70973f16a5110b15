// The best evaluation so far, and whether it is time to stop early. Its state is in the checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/state.h"
#include "train/config.h"
#include "train/evaluator.h"

namespace lockstep::train {

class Best {
 public:
  explicit Best(const Config::Eval& config) : config_(config) {}

  // Takes the evaluation after `step` into account. True where it is the best one: the first that is finite,
  // and each that is better than the best by more than eval.min_delta.
  bool offer(std::int64_t step, const Evaluation& evaluation);

  // Step of the best evaluation; -1: none yet.
  std::int64_t step() const { return step_; }

  // eval.patience evaluations in a row were not better.
  bool exhausted() const { return config_.patience > 0 && since_ >= config_.patience; }

  // "no better loss in 5 evaluations; best 0.2626 after step 1400".
  std::string verdict() const;

  // In a checkpoint. Nothing is taken over from one without these values, of an earlier version, or where
  // eval.metric or the test data have been changed: those values cannot be compared.
  void write(checkpoint::State& state) const;
  void read(const checkpoint::State& state, const std::string& test_data);

 private:
  Config::Eval config_;
  double value_ = 0;
  std::int64_t step_ = -1;
  std::int64_t since_ = 0;  // evaluations after the best one
};

}  // namespace lockstep::train
