// Two ports for a step for which Slurm has reserved none.
#pragma once

#include <optional>

#include "step/step.h"

namespace lockstep::spank {

struct PortPair {
  int first = 0;
  int second = 0;
};

// A function of the job's id, the step's id and the restart count alone, so that all nodes find the same
// ports. They are above 1023 and within `range_first` to `range_last`; nothing where these hold no two such
// ports.
//
// With P pairs in the range, an odd number, no two steps get the same port
//  - that differ by less than 16 in the step's id, less than 2 in the restart count, and less than P/32 in
//  the job's
//    id: with the built-in range of 5,999 pairs, 16 steps at a time in each of 187 successive jobs, and their
//    requeues;
//  - of jobs that differ by less than P, with the same step's id and restart count;
//  - of one job, with ids that differ by less than P, and the same restart count.
std::optional<PortPair> port_pair(const Step& step, int range_first, int range_last);

}  // namespace lockstep::spank
