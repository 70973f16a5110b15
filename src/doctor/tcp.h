// What plain TCP gets through between two processes, both directions at once: the measure for collectives on
// the same link. No wait is longer than its deadline (monotonic_seconds()).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/files.h"

namespace lockstep::doctor {

struct Listener {
  FileDescriptor socket;
  std::uint16_t port = 0;  // chosen by the kernel
};

// On all of this machine's addresses. Throws Error(peer_failed), as all of these.
Listener listen_tcp();
FileDescriptor accept_tcp(const Listener& listener, double deadline);
// The first of the addresses that answers.
FileDescriptor connect_tcp(std::span<const std::string> addresses, std::uint16_t port, double deadline);

// Sends and receives for `seconds`, as the other side does. Returns the bytes per second that came in, the
// first moments left out, in which queues fill.
double duplex_rate(const FileDescriptor& connection, double seconds);

}  // namespace lockstep::doctor
