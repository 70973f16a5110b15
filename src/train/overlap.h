// Whether the gradients are summed while others are still computed (comm.overlap). On a CPU that costs a
// thread's time, so that it pays on some machines and networks only: "auto" measures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/group.h"

namespace lockstep::train {

// What a step took on this rank.
struct StepTime {
  double seconds = 0;                // all of it
  double communication_seconds = 0;  // the part of it in which the main thread waited for other ranks
};

class Overlap {
 public:
  // Steps that are not counted, and steps that are measured in each of the two ways.
  static constexpr std::int64_t warm_up = 4;
  static constexpr std::int64_t measured = 8;

  // `choice`: on, off or auto. `ranks`: of the run; one has nobody to talk to.
  Overlap(std::string_view choice, int ranks);

  // For the next step; the same on all ranks.
  bool on() const;
  // After each step. Collective in the last one of the trial, in which it returns what was found.
  std::optional<std::string> record(const StepTime& time, comm::Group& comm);

 private:
  std::optional<bool> decided_;
  std::int64_t steps_ = 0;
  std::vector<StepTime> times_[2];  // without, with
};

}  // namespace lockstep::train
