// The next job of a chain, as `lockstep requeue` notes it in the run folder when it has submitted it: for
// `lockstep status`.
#pragma once

#include <optional>
#include <string>

#include "train/run_folder.h"

namespace lockstep::train {

// `job` goes on after the attempt `token`. Throws Error(cannot_create).
void note_successor(const RunFolder& folder, const std::string& token, const std::string& job);

// The job that goes on after the attempt `token`; nothing where none was noted.
std::optional<std::string> successor_of(const RunFolder& folder, const std::string& token);

}  // namespace lockstep::train
