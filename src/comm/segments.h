// Messages of any length between any ranks, cut into segments that go off without asking the receiver first.
#pragma once

#include <cstddef>
#include <span>

#include "comm/transport.h"

namespace lockstep::comm {

struct Outgoing {
  int peer;
  std::span<const std::byte> data;
};

struct Incoming {
  int peer;
  std::span<std::byte> data;
};

// Returns when all have been sent and have come. Messages of one pair of ranks match in list order and have
// equal sizes on both sides; every other rank that takes part makes the call with the same tag.
void exchange_in_segments(Transport& transport, std::span<const Outgoing> sends,
                          std::span<const Incoming> receives, int tag, double deadline);

}  // namespace lockstep::comm
