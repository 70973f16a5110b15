// What a run takes over from its newest checkpoint (contracts C6, C10).
#pragma once

#include <optional>

#include "checkpoint/state.h"
#include "comm/group.h"
#include "core/log.h"
#include "data/dataset.h"
#include "train/attempt.h"
#include "train/config_source.h"
#include "train/learner.h"
#include "train/position.h"
#include "train/run_folder.h"

namespace lockstep::train {

struct ResumeSetting {
  const ResolvedConfig& resolved;
  const RunFolder& folder;
  const Attempt& attempt;
  comm::Group& comm;
  const Log& log;
  const data::Dataset& train;
  const data::Dataset* test;  // nullptr: none
  bool fork;                  // go on although the configuration makes it another run
};

struct Resumed {
  checkpoint::State state;
  Origin origin;
};

// Restores the learner from the newest intact checkpoint and sets damaged newer ones aside; nothing where
// there is no checkpoint yet. Collective; throws AgreedError where none is intact, where it is of another run
// (without `fork`), or where exact mode cannot be kept.
std::optional<Resumed> resume_newest(const ResumeSetting& setting, Learner& learner);

// For a run that goes back: restores the learner from the checkpoint of `step` or, where that is not intact
// any more, from the newest that is. Collective; throws AgreedError(bad_data) where there is none.
checkpoint::State restore_earlier(const ResumeSetting& setting, std::int64_t step, Learner& learner);

}  // namespace lockstep::train
