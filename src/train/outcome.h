// How an attempt ended, as a small file in the run folder: outcome/JOB.RESTART (contract C5). The exit code
// alone is not the message: with kill-on-bad-exit, srun returns 143 whatever the first rank's code was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"

namespace lockstep::train {

struct Outcome {
  ExitCode code = ExitCode::internal;
  std::int64_t step = 0;  // optimizer steps that are done and saved; for a failure: the step that it came in
  std::string reason;     // one line for people
  std::string who;        // "rank 2 on node n3"
};

// Writes the file unless this attempt has one already: the first rank to decide is the one that is heard.
// Returns whether it was this call that decided. Throws Error(cannot_create).
bool write_outcome(const std::filesystem::path& run, const std::string& token, const Outcome& outcome);

// What such a file says; what it lacks or garbles has the defaults.
Outcome parse_outcome(std::string_view text);

// What NCCL knew when this rank gave up an attempt: a file of that name beside the outcome, where NCCL was
// asked.
std::filesystem::path nccl_report(const std::filesystem::path& run, const std::string& token, int rank);

std::optional<Outcome> read_outcome(const std::filesystem::path& run, const std::string& token);

}  // namespace lockstep::train
