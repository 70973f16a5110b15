// The algorithms of HostCommunicator: blocking, on bytes, over a Transport. What is not there at
// `deadline` (monotonic_seconds()) ends each by the error of Transport::wait().
#pragma once

#include <cstddef>
#include <span>

#include "comm/segments.h"
#include "comm/transport.h"
#include "device/tensor.h"

namespace lockstep::comm::collectives {

// The contracts are those of Communicator.
void all_gather(Transport& transport, std::span<const std::byte> mine, std::span<std::byte> all,
                double deadline);
void broadcast(Transport& transport, std::span<std::byte> data, int root, double deadline);
void exchange(Transport& transport, std::span<const Outgoing> sends, std::span<const Incoming> receives,
              double deadline);
void barrier(Transport& transport, double deadline);

}  // namespace lockstep::comm::collectives
