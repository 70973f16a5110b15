// Everything small that the ranks tell each other in a step, in one all-gather (contracts C2, C4, C8).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/group.h"

namespace lockstep::comm {

// Quantities have one value per lane and come out as sums in the tree's order, bit for bit the same for any
// number of ranks. Flags come out as the number of ranks that raised them. Quantities and flags are numbered
// by the caller's enumerations. Each lane may have a row of `attached` further numbers.
class StepPacket {
 public:
  StepPacket(int lanes, std::size_t quantities, std::size_t flags, std::size_t attached = 0);

  // Before each step.
  void clear();
  // By the rank that owns the lane.
  void set(std::size_t quantity, int lane, double value);
  std::span<float> attached(int lane);
  void raise(std::size_t flag);

  // Collective, once per step.
  void gather(Group& comm);

  // After gather(), all lanes and ranks.
  double sum(std::size_t quantity) const;
  double value(std::size_t quantity, int lane) const;
  std::span<const double> values(std::size_t quantity) const;  // by lane
  std::span<const float> attached(int lane) const;
  int raised(std::size_t flag) const;

 private:
  std::size_t slot(std::size_t quantity, int lane) const;

  std::size_t lanes_;
  std::size_t quantities_;
  std::size_t flags_;
  std::size_t row_;
  std::vector<double> values_;   // [quantity][lane], then one per flag
  std::vector<float> attached_;  // [lane][row]
  std::vector<std::byte> mine_;  // as they travel
  std::vector<std::byte> all_;
};

}  // namespace lockstep::comm
