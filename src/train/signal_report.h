// Who was told to stop, for events.csv.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/group.h"

namespace lockstep::train {

struct ReceivedSignal {
  int number = 0;  // 0: none
  std::string node;
};

// The first stop signal of each rank, in rank order, on every rank. Collective.
std::vector<ReceivedSignal> gather_signals(comm::Group& comm, const std::string& node);

// One line for each signal that came: "TERM to rank 0 on n1; rank 1 on n2; 118 s left". `seconds_left` until
// the end of the job's time, where that is known.
std::vector<std::string> signal_lines(const std::vector<ReceivedSignal>& signals,
                                      std::optional<double> seconds_left);

}  // namespace lockstep::train
