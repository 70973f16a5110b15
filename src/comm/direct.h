// Sums in the order of the ranks: each rank adds its slice of everybody's data and hands it out. The same
// volume as the ring's, in messages to all at once; f32, bf16 and f16, the latter rounded once, at the end.
#pragma once

#include <cstddef>
#include <span>

#include "comm/team.h"
#include "device/tensor.h"

namespace lockstep::comm {

struct DirectFlow {
  std::size_t segment = std::size_t{240} << 10;  // bytes, about; see RingFlow
  int window = 8;                                // segments that are on the way at once to or from a rank
};

// Afterwards place p of the team has the sum of slice p (slice_of()) in it.
void direct_reduce_scatter(const Team& team, device::DType dtype, std::span<std::byte> data,
                           const DirectFlow& flow, double deadline);
void direct_all_reduce(const Team& team, device::DType dtype, std::span<std::byte> data,
                       const DirectFlow& flow, double deadline);

}  // namespace lockstep::comm
