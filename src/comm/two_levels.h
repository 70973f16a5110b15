// A sum in two levels: within each node through memory that its ranks share, between nodes by messages. Each
// rank of a node drives a slice of its own between the nodes, so a node's link carries all data once, however
// many ranks it has.
#pragma once

#include <span>

#include "comm/choice.h"
#include "comm/node_memory.h"
#include "comm/ring.h"
#include "device/tensor.h"

namespace lockstep::comm {

// f32, bf16 and f16; the latter are f32 between the nodes and rounded once, at the end.
void two_level_all_reduce(Transport& transport, NodeMemory& memory, const Places& places, device::DType dtype,
                          std::span<std::byte> data, const RingFlow& flow, double deadline);

}  // namespace lockstep::comm
