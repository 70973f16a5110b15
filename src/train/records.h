// What a run writes down beside its checkpoints, by rank 0: metrics.csv, eval.csv (deterministic: byte-equal
// to those of an undisturbed run), timings.csv, events.csv, and the progress lines.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/log.h"
#include "train/evaluator.h"
#include "train/run_folder.h"
#include "train/step_log.h"
#include "train/stepper.h"

namespace lockstep::train {

class Records {
 public:
  // Drops rows of steps after `step`, the step of the checkpoint that the run resumes from.
  Records(const RunFolder& folder, const Log& log, std::int64_t step, std::int64_t log_every,
          std::int64_t total_steps);

  // `step` counts from 1; `samples` since the start of the run.
  void step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report);
  void evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result);

  // One line in events.csv: "started", "resumed", "stopped", "finished", ...
  void event(std::int64_t step, std::string_view name, std::string_view detail);

  // To storage, before a checkpoint that counts on the rows is announced.
  void sync();

  // The greatest step with an evaluation when the run was resumed.
  std::int64_t last_evaluation() const { return evaluations_.last_row_at_start(); }
  // The greatest step with metrics when the run was resumed: equal to the checkpoint's unless rows were lost.
  std::int64_t last_metrics() const { return metrics_.last_row_at_start(); }

 private:
  void tell_of_waiting(bool all_written);
  void progress(std::int64_t step, std::int64_t epoch, const StepReport& report);

  const Log& log_;
  std::int64_t log_every_;
  std::int64_t total_steps_;
  StepLog metrics_;
  StepLog timings_;
  StepLog evaluations_;
  StepLog events_;
  bool rows_wait_ = false;
  // Since the last progress line.
  struct Interval {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double seconds = 0;
    double data_seconds = 0;
    double communication_seconds = 0;
  } interval_;
};

}  // namespace lockstep::train
