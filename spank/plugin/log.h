// Where the plugin's lines go. Every line begins with "nccl: ", is printable ASCII, and is cut at 1000
// bytes.
#pragma once

#include <string_view>

namespace lockstep::spank {

// To the user's terminal or the job's output; where no task's output is open yet, to slurmd's log.
void tell(std::string_view text) noexcept;

// The same as an error: "srun: error: nccl: ...".
void complain(std::string_view text) noexcept;

// To the logs at level debug.
void debug(std::string_view text) noexcept;

}  // namespace lockstep::spank
