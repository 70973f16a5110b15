#include "train/stop.h"

#include <fmt/format.h>

#include "slurm/stop_signals.h"

namespace lockstep::train {

namespace {

constexpr std::array<int, stop_causes> signals = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, 0};
constexpr auto deadline_index = static_cast<std::size_t>(StopCause::deadline);

}  // namespace

StopVotes local_votes(bool deadline_near) {
  StopVotes votes{};
  const int received = slurm::received_stop_signal();
  for (std::size_t i = 0; i < stop_causes; ++i) {
    if (received != 0 && signals[i] == received) votes[i] = 1;
  }
  if (deadline_near) votes[deadline_index] = 1;
  return votes;
}

std::string describe(const StopVotes& votes, int ranks) {
  for (std::size_t i = 0; i < stop_causes; ++i) {
    if (votes[i] == 0) continue;
    if (i == deadline_index) return "the time limit is near";
    return fmt::format("signal {} on {} of {} ranks", slurm::signal_name(signals[i]), votes[i], ranks);
  }
  return "nothing";
}

StopVotes agreed_votes(comm::Group& comm, bool deadline_near) {
  StopVotes votes = local_votes(deadline_near);
  comm.all_reduce_sum(std::span<std::int64_t>(votes));
  return votes;
}

}  // namespace lockstep::train
