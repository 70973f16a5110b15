// One attempt of a run, from the newest checkpoint to the end, or to the next stop. All ranks execute the
// same code; what only rank 0 does is marked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/save.h"
#include "comm/communicator.h"
#include "comm/mpi_group.h"
#include "comm/reducer.h"
#include "core/log.h"
#include "core/trace.h"
#include "data/dataset.h"
#include "device/gpu_monitor.h"
#include "slurm/allocation.h"
#include "train/attempt.h"
#include "train/best.h"
#include "train/config_source.h"
#include "train/deadline.h"
#include "train/evaluator.h"
#include "train/gradient_sum.h"
#include "train/guard.h"
#include "train/hook.h"
#include "train/learner.h"
#include "train/outcome.h"
#include "train/position.h"
#include "train/records.h"
#include "train/resume.h"
#include "train/run_folder.h"
#include "train/save_patience.h"
#include "train/stall_alarm.h"
#include "train/status.h"
#include "train/stepper.h"
#include "train/stop.h"
#include "train/stragglers.h"
#include "train/watchdog.h"

namespace lockstep::train {

struct RunOptions {
  bool fresh = false;     // start over; what is there goes into an archive
  bool fork = false;      // go on from the newest checkpoint although the configuration makes it another run
  std::string trace;      // file of the timelines (core/trace.h), one per rank; empty: none
  bool log_hash = false;  // hashes.csv
};

class Run {
 public:
  // Everything that the run borrows; all of it outlives the run.
  struct Setting {
    const ResolvedConfig& resolved;
    const slurm::Allocation& allocation;
    Attempt attempt;
    const RunFolder& folder;
    comm::MpiGroup& comm;
    Watchdog& watchdog;
    StatusBoard& board;
    Hook& hook;
    const Log& log;
  };

  explicit Run(const Setting& setting);
  ~Run();

  // Opens the data and builds the model; touches nothing of the run folder, so that a run that cannot work
  // leaves nothing behind. Collective, as all that follows; errors come as the same Error on every rank. Not
  // part of the constructor, so that whoever catches an error can leave without destroying what threads still
  // use.
  void prepare();

  // Resumes from the newest checkpoint, if there is one. The run folder has been claimed.
  void start(const RunOptions& options);

  // Trains until the last step is done and evaluated, or until the ranks agree to stop. Collective.
  Outcome execute();

  // This rank leaves because of a fault of its own: see Communicator::tell().
  void tell_peers(const std::string& reason) noexcept;
  // See Watchdog::Run::inquire.
  std::function<std::string()> inquiry() const;

 private:
  void open_data();
  void check_same_data();
  void check_content();
  ResumeSetting resume_setting(bool fork) const;
  // False where the checkpoint, of an earlier version, does not say which evaluations it knows of.
  bool resume(bool fork);
  // What a checkpoint knows beside the learner, position and guard.
  void take_over(const checkpoint::State& state);
  void remove_unfinished();
  void open_records();
  void open_trace(const std::string& path);

  // What it says at its start and its end (run_announce.cpp).
  void announce() const;
  void announce_bytes();

  data::SamplerConfig sampler_config() const;
  data::Position position() const;
  bool evaluation_due() const;
  bool save_scheduled() const;
  bool saved() const { return saved_step_ == step_ && saved_evaluation_ == evaluated_step_; }
  void take_step();
  void alert_if_stalled();
  void report_signals();
  void run_evaluation();

  // Watching the ranks (run_watch.cpp). The first throws AgreedError(peer_failed) where copies differ.
  void compare_replicas();
  void start_watching();
  void watch_gpu();
  void watch_ranks(const StepReport& report);
  void record_ranks();
  KeepReport report_keeper() const;
  // Whether a rank has become slow.
  bool tell_of_paces(const std::vector<PaceChange>& changes);

  // What happens to a step that the guard refused (run_anomaly.cpp).
  void meet_anomaly(const data::Position& at, const StepReport& report);
  // `event`: what events.csv calls it.
  void skip(const data::Position& at, const StepReport& report, std::string_view event,
            const std::string& what);
  void roll_back(const std::string& what);
  std::vector<PassedOver> passed_over(std::int64_t from, std::int64_t to) const;
  std::string worst_sample(const StepReport& report) const;

  // How a run saves, and what happens when it cannot (run_save.cpp). One try; why the checkpoint could
  // not be written, or nothing.
  std::string save();
  void save_on_the_way();
  void save_at_last();
  void write_checkpoint();
  void remove_old_checkpoints();
  void clear_up_checkpoints(const checkpoint::Fence& fence) const;
  void bear_with(const AgreedError& error);
  void tell_of_failure(const std::string& text);
  bool root_says(bool mine);

  checkpoint::State state() const;
  bool deadline_near() const;
  bool clock_says_save() const;

  Setting setting_;
  const Config& config_;
  int threads_;
  std::unique_ptr<Trace> trace_;  // null: none; outlives all that writes to it
  comm::MpiGroup checkpoint_comm_;

  std::optional<data::Dataset> train_data_;
  std::optional<data::Dataset> test_data_;
  std::optional<Learner> learner_;
  std::unique_ptr<comm::Communicator> reducer_comm_;
  std::unique_ptr<comm::Reducer> reducer_;
  std::optional<data::Loader> loader_;
  std::optional<Stepper> stepper_;
  std::optional<Deadline> deadline_;
  std::unique_ptr<device::GpuMonitor> gpu_monitor_;  // null: no GPU, or nobody asks how this rank's is doing
  std::optional<Records> records_;                   // rank 0
  Guard guard_;
  Best best_;
  std::optional<StallAlarm> stall_alarm_;
  bool log_hash_ = false;
  bool copies_comparable_ = true;    // the same arithmetic on all ranks
  std::int64_t compared_step_ = -1;  // whose state all ranks were found to share
  std::optional<PaceMeter> pace_;    // since the ranks were last compared
  std::optional<PaceMeter> paces_;   // of this attempt, of the work as it is
  std::optional<StragglerWatch> stragglers_;

  std::int64_t steps_per_epoch_ = 1;
  Origin origin_;
  std::int64_t step_ = 0;     // optimizer steps done
  std::int64_t samples_ = 0;  // samples used since the start of the run
  std::int64_t resumed_at_ = 0;
  std::int64_t saved_step_ = -1;        // of the newest checkpoint; -1: none
  std::int64_t saved_evaluation_ = -1;  // the newest evaluation that it knows of
  std::int64_t evaluated_step_ = -1;    // of the newest evaluation; -1: none
  // Where a rollback goes: the newest checkpoint that was due by its step, or 0. Not one that was made by the
  // clock or because the run was stopped: a run that is preempted must go back as far as one that is not.
  std::int64_t rollback_step_ = 0;
  std::optional<Learner::Snapshot> initial_;  // where a rollback can still go to step 0
  std::optional<Evaluation> evaluation_;
  StopVotes votes_{};
  bool save_by_clock_ = false;  // agreed
  std::optional<SavePatience> patience_;
  double save_seconds_ = 0;  // measured, or an estimate before the first save
  double step_seconds_ = 0;
};

}  // namespace lockstep::train
