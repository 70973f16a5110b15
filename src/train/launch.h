// From a resolved configuration to the process's exit code: MPI, the run folder, and every way to leave.
#pragma once

#include "train/config_source.h"
#include "train/run.h"

namespace lockstep::train {

// Returns 0 or 75 on every rank after an orderly end. Any failure leaves the process at once by _exit with
// its code, after the outcome was written: no error path enters a collective (contracts C5, C7).
int launch(const ResolvedConfig& resolved, const RunOptions& options);

}  // namespace lockstep::train
