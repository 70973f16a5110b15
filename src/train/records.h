// What a run writes down beside its checkpoints, by rank 0: metrics.csv, eval.csv, anomalies.csv
// (deterministic: byte-equal to those of an undisturbed run), timings.csv, events.csv, the curves for
// TensorBoard, what `lockstep status` shows, and the progress lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/log.h"
#include "data/dataset.h"
#include "device/gpu_monitor.h"
#include "train/attempt.h"
#include "train/config.h"
#include "train/evaluator.h"
#include "train/hook.h"
#include "train/run_folder.h"
#include "train/status.h"
#include "train/step_log.h"
#include "train/stepper.h"
#include "train/suspects.h"
#include "train/tensorboard.h"

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
  // Replaces no file of a folder that is not `attempt`'s any more: throws Error(cannot_create). `log_hash`:
  // hash() will be called. `gpu`: how this rank's is doing; null: it has none. It must outlive the records.
  Records(const RunFolder& folder, const Log& log, StatusBoard& board, Hook& hook, const Config& config,
          const Attempt& attempt, std::int64_t step, std::int64_t evaluated, bool log_hash,
          device::GpuMonitor* gpu);

  // `step` counts from 1; `samples` since the start of the run.
  void step(std::int64_t step, std::int64_t epoch, std::int64_t samples, const StepReport& report);
  // hashes.csv: the state after the step; the only one of a step that was passed over is that of the last.
  void hash(std::int64_t step, std::uint64_t hash);
  // The samples that made a step bad.
  void suspects(std::int64_t step, std::span<const Suspect> suspects, const data::Dataset& dataset);
  // The run went back to its state after `step`, when the last evaluation was that of `evaluated`: what came
  // since makes room for the steps that are passed over.
  void roll_back(std::int64_t step, std::int64_t evaluated, std::span<const PassedOver> passed_over);
  void evaluation(std::int64_t step, std::int64_t epoch, const Evaluation& result);
  // A checkpoint of `bytes` that took `seconds` is durable under the name `file`.
  void checkpoint(std::int64_t step, std::string_view file, std::int64_t bytes, double seconds);

  // One line in events.csv: docs/run-folder.md lists them. All that people may want to be told goes through
  // here, and so to the hook.
  void event(std::int64_t step, std::string_view name, std::string_view detail);

  // To storage, before a checkpoint that counts on the rows is announced.
  void sync();

  // How long the run waited for this attempt (event_log.h).
  const std::string& waited() const { return waited_; }

  // The greatest step with an evaluation when the run was resumed.
  std::int64_t last_evaluation() const { return evaluations_.last_row_at_start(); }
  // The greatest step with metrics when the run was resumed: equal to the checkpoint's unless rows were lost.
  std::int64_t last_metrics() const { return metrics_.last_row_at_start(); }

 private:
  // How the GPU did since the last time: for timings.csv, the columns of `gpu_columns`; empty without one.
  std::string gpu_fields(std::int64_t step);
  void tell_of_waiting(bool all_written);
  void progress(std::int64_t step, std::int64_t epoch, const StepReport& report);

  const Log& log_;
  StatusBoard& board_;
  Hook& hook_;
  std::int64_t log_every_;
  std::int64_t total_steps_;
  std::int64_t tensorboard_every_;
  StepLog metrics_;
  StepLog timings_;
  StepLog evaluations_;
  StepLog anomalies_;
  std::string waited_;  // before events_ is opened anew
  StepLog events_;
  std::optional<StepLog> hashes_;  // where it is asked for, or there already
  std::optional<TensorBoard> tensorboard_;
  device::GpuMonitor* gpu_;
  bool rows_wait_ = false;
  // Since the last progress line.
  struct Interval {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double seconds = 0;
    double data_seconds = 0;
    double communication_seconds = 0;
    double samples_per_second() const { return static_cast<double>(samples) / std::max(seconds, 1e-9); }
    double seconds_per_step() const { return seconds / static_cast<double>(steps); }
  } interval_;
};

}  // namespace lockstep::train
