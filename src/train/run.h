// One attempt of a run, from the newest checkpoint to the end, or to the next stop. All ranks execute the
// same code; what only rank 0 does is marked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/save.h"
#include "comm/mpi_communicator.h"
#include "comm/reducer.h"
#include "core/log.h"
#include "data/dataset.h"
#include "slurm/allocation.h"
#include "train/attempt.h"
#include "train/config_source.h"
#include "train/deadline.h"
#include "train/evaluator.h"
#include "train/learner.h"
#include "train/outcome.h"
#include "train/position.h"
#include "train/records.h"
#include "train/run_folder.h"
#include "train/save_patience.h"
#include "train/stepper.h"
#include "train/stop.h"
#include "train/watchdog.h"

namespace lockstep::train {

struct RunOptions {
  bool fresh = false;  // start over; what is there goes into an archive
  bool fork = false;   // go on from the newest checkpoint although the configuration makes it another run
};

class Run {
 public:
  // Everything that the run borrows; all of it outlives the run.
  struct Setting {
    const ResolvedConfig& resolved;
    const slurm::Allocation& allocation;
    Attempt attempt;
    const RunFolder& folder;
    comm::MpiCommunicator& comm;
    Watchdog& watchdog;
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

 private:
  void open_data();
  void check_same_data();
  void resume(bool fork);
  void remove_unfinished();
  void open_records();
  void announce() const;
  void announce_bytes();

  StepPosition position() const;
  bool evaluation_due() const;
  void take_step();
  void run_evaluation();
  // One try; false where the checkpoint could not be written.
  bool save();
  void save_on_the_way();
  void save_at_last();
  void write_checkpoint();
  void remove_old_checkpoints();
  void bear_with(const AgreedError& error, const std::string& what);
  bool root_says(bool mine);
  checkpoint::State state() const;
  bool deadline_near() const;
  bool clock_says_save() const;

  Setting setting_;
  const Config& config_;
  int threads_;
  std::unique_ptr<comm::Communicator> reducer_comm_;
  comm::MpiCommunicator checkpoint_comm_;

  std::optional<data::Dataset> train_data_;
  std::optional<data::Dataset> test_data_;
  std::optional<Learner> learner_;
  std::unique_ptr<comm::Reducer> reducer_;
  std::optional<data::Loader> loader_;
  std::optional<Stepper> stepper_;
  std::optional<Deadline> deadline_;
  std::optional<Records> records_;  // rank 0

  std::int64_t steps_per_epoch_ = 1;
  Origin origin_;
  std::int64_t step_ = 0;     // optimizer steps done
  std::int64_t samples_ = 0;  // samples used since the start of the run
  std::int64_t resumed_at_ = 0;
  std::int64_t saved_step_ = -1;      // of the newest checkpoint; -1: none
  std::int64_t evaluated_step_ = -1;  // of the newest evaluation; -1: none
  std::optional<Evaluation> evaluation_;
  StopVotes votes_{};
  bool save_by_clock_ = false;  // agreed
  std::optional<SavePatience> patience_;
  double save_seconds_ = 0;  // measured, or an estimate before the first save
  double step_seconds_ = 0;
};

}  // namespace lockstep::train
