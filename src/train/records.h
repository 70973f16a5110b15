// What a run writes down beside its checkpoints, by rank 0: metrics.csv, eval.csv, anomalies.csv
// (deterministic: byte-equal to those of an undisturbed run), timings.csv, events.csv, and the progress
// lines.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/log.h"
#include "data/dataset.h"
#include "train/evaluator.h"
#include "train/run_folder.h"
#include "train/step_log.h"
#include "train/stepper.h"
#include "train/suspects.h"

namespace lockstep::train {

// A step that was left out after a rollback.
struct PassedOver {
  std::int64_t step = 0;  // from 1
  std::int64_t epoch = 0;
  std::int64_t samples = 0;  // since the start of the run
  double learning_rate = 0;
};

class Records {
 public:
  // Drops rows of steps after `step`, the step of the checkpoint that the run resumes from, and of
  // evaluations after that of `evaluated`, the last one that the checkpoint knows of.
  Records(const RunFolder& folder, const Log& log, std::int64_t step, std::int64_t evaluated,
          std::int64_t log_every, std::int64_t total_steps);

  // `step` counts from 1; `samples` since the start of the run.
  void step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report);
  // The samples that made a step bad.
  void suspects(std::int64_t step, std::span<const Suspect> suspects, const data::Dataset& dataset);
  // The run went back to its state after `step`, when the last evaluation was that of `evaluated`: what came
  // since makes room for the steps that are passed over.
  void roll_back(std::int64_t step, std::int64_t evaluated, std::span<const PassedOver> passed_over);
  void evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result);

  // One line in events.csv: "started", "resumed", "skipped", "alert", "stopped", "finished",
  // ... All that people may want to be told goes through here.
  void event(std::int64_t step, std::string_view name, std::string_view detail);

  // To storage, before a checkpoint that counts on the rows is announced.
  void sync();

  // The greatest step with an evaluation when the run was resumed.
  std::int64_t last_evaluation() const { return evaluations_.last_row_at_start(); }
  // The greatest step with metrics when the run was resumed: equal to the checkpoint's unless rows were lost.
  std::int64_t last_metrics() const { return metrics_.last_row_at_start(); }

 private:
  void progress(std::int64_t step, std::int64_t epoch, const StepReport& report);

  const Log& log_;
  std::int64_t log_every_;
  std::int64_t total_steps_;
  StepLog metrics_;
  StepLog timings_;
  StepLog evaluations_;
  StepLog anomalies_;
  StepLog events_;
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
