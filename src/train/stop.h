// Why a run should stop, as this rank sees it, and as all ranks have agreed (contracts C4, C8).
#pragma once

#include <array>
#include <csignal>
#include <cstdint>
#include <string>

#include "comm/group.h"

namespace lockstep::train {

// In the order in which they are told to people where several came together.
enum class StopCause : std::size_t { term, interrupt, usr1, usr2, deadline };
inline constexpr std::size_t stop_causes = 5;

// Which causes this rank sees; numbers of ranks once they are summed over all.
using StopVotes = std::array<std::int64_t, stop_causes>;

// `deadline_near` is only ever true on rank 0.
StopVotes local_votes(bool deadline_near);

inline bool any(const StopVotes& votes) {
  for (const std::int64_t count : votes) {
    if (count != 0) return true;
  }
  return false;
}

// "signal TERM on 3 of 4 ranks", "the time limit is near".
std::string describe(const StopVotes& votes, int ranks);

// Sums the votes over the ranks; collective.
StopVotes agreed_votes(comm::Group& comm, bool deadline_near);

}  // namespace lockstep::train
