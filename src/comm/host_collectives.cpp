#include "comm/host_collectives.h"

#include <algorithm>
#include <vector>

#include "comm/room.h"
#include "comm/team.h"

namespace lockstep::comm::collectives {

namespace {

constexpr int message_tag = 1;
constexpr int gather_tag = 3;
constexpr int broadcast_tag = 4;

// Slice r of `all` comes from rank r.
void gather_slices(Transport& transport, std::size_t element, std::span<std::byte> all, double deadline) {
  const int size = transport.size();
  const int me = transport.rank();
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (int step = 1; step < size; ++step) {
    const int from = (me - step + size) % size;
    receives.push_back({from, slice_of(all, element, from, size)});
    sends.push_back({(me + step) % size, slice_of(all, element, me, size)});
  }
  exchange_in_segments(transport, sends, receives, gather_tag, deadline);
}

}  // namespace

void all_gather(Transport& transport, std::span<const std::byte> mine, std::span<std::byte> all,
                double deadline) {
  const auto slice = slice_of(all, 1, transport.rank(), transport.size());
  if (slice.data() != mine.data()) std::copy(mine.begin(), mine.end(), slice.begin());
  gather_slices(transport, 1, all, deadline);
}

void broadcast(Transport& transport, std::span<std::byte> data, int root, double deadline) {
  if (transport.rank() != root) {
    transport.wait(transport.receive(root, broadcast_tag, data), deadline);
    return;
  }
  std::vector<Transport::Ticket> tickets;
  for (int rank = 0; rank < transport.size(); ++rank) {
    if (rank != root) tickets.push_back(transport.send(rank, broadcast_tag, data));
  }
  for (const auto ticket : tickets) transport.wait(ticket, deadline);
}

void exchange(Transport& transport, std::span<const Outgoing> sends, std::span<const Incoming> receives,
              double deadline) {
  exchange_in_segments(transport, sends, receives, message_tag, deadline);
}

void barrier(Transport& transport, double deadline) {
  Room marks(transport, static_cast<std::size_t>(transport.size()));
  gather_slices(transport, 1, marks.bytes(), deadline);
}

}  // namespace lockstep::comm::collectives
