#pragma once

#include <string>

#include "train/config_source.h"

namespace lockstep::train {

// Everything about a run that can be wrong before it is started, looked at by one process without MPI: the
// data are there and fit together, their labels are in range, the model fits the data. Samples are not read:
// the run does that itself (data.check). Returns a summary in one line; throws what the
// run would.
std::string check(const ResolvedConfig& resolved);

}  // namespace lockstep::train
