// The ring: each rank sends to the next and receives from the one before, both at once, while it adds what
// has come. Slices go round once to be summed and once to be handed out, in segments that follow each other
// without a pause between the rounds. Volume per rank and direction: 2 (R - 1) / R of the data, the least
// that there is. f32.
#pragma once

#include <cstddef>
#include <span>

#include "comm/team.h"

namespace lockstep::comm {

struct RingFlow {
  // Bytes, about. Below MPI's eager limit over TCP (MpiSession), so that a segment goes off without asking:
  // the question and its answer would queue behind other segments.
  std::size_t segment = std::size_t{240} << 10;
  // Segments that are on the way at once between two neighbours: enough to fill the line, and no more than
  // its queues hold.
  int window = 8;
};

// Afterwards place p of the team has the sum of slice p (slice_of()) in it; the rest is undefined.
void ring_reduce_scatter(const Team& team, std::span<std::byte> data, const RingFlow& flow, double deadline);
// The sum of everything on every rank.
void ring_all_reduce(const Team& team, std::span<std::byte> data, const RingFlow& flow, double deadline);

}  // namespace lockstep::comm
