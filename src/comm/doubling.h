// Recursive doubling: pairs exchange everything and add, then pairs of pairs, so that small data take
// log2(R) messages. Both of a pair add the same two numbers, so all ranks have the same bits.
#pragma once

#include <cstddef>
#include <span>

#include "comm/team.h"
#include "device/tensor.h"

namespace lockstep::comm {

// 16-bit data travel as f32 and are rounded once, at the end.
void doubling_all_reduce(const Team& team, device::DType dtype, std::span<std::byte> data, double deadline);

}  // namespace lockstep::comm
