// How a run is doing, as seen from outside: for `lockstep status`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurm/queries.h"
#include "train/outcome.h"
#include "train/run_folder.h"
#include "train/status.h"

namespace lockstep::train {

enum class RunState {
  running,
  silent,   // its job or process is there, but has not been heard of for a while
  waiting,  // Slurm will start it, or has just started it, again
  stopped,  // saved, and nobody starts it again
  finished,
  failed,
  dead,  // gone without a word
};
std::string_view name_of(RunState state);

// All that can be found out about a run.
struct Sight {
  RunFolder::Owner owner;
  std::optional<Outcome> outcome;       // of the owner
  std::optional<Status> status;         // of the owner
  std::optional<slurm::JobState> job;   // of an owner in Slurm, where Slurm knows it
  std::string alive;                    // owner_alive()'s sentence
  std::string next_job;                 // of a chain, submitted to go on after the owner; empty: none
  std::optional<slurm::JobState> next;  // where Slurm knows it
};

// Reads the run folder and asks Slurm, or the process table of this node, `here`. Nothing where no run has
// ever owned the folder. Throws Error where a file cannot be read.
std::optional<Sight> look_at(const RunFolder& folder, const std::string& here);

struct Judgement {
  RunState state;
  std::string reason;  // one line for people; may be empty
};

// The rules alone.
Judgement judge(const Sight& sight);

}  // namespace lockstep::train
