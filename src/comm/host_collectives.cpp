#include "comm/host_collectives.h"

#include <algorithm>
#include <cstring>
#include <vector>

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
  std::vector<Transport::Ticket> tickets;
  for (int step = 1; step < size; ++step) {
    const int from = (me - step + size) % size;
    tickets.push_back(transport.receive(from, gather_tag, slice_of(all, element, from, size)));
  }
  for (int step = 1; step < size; ++step) {
    tickets.push_back(transport.send((me + step) % size, gather_tag, slice_of(all, element, me, size)));
  }
  for (const auto ticket : tickets) transport.wait(ticket, deadline);
}

}  // namespace

void all_gather(Transport& transport, std::span<const std::byte> mine, std::span<std::byte> all,
                double deadline) {
  const auto slice = slice_of(all, 1, transport.rank(), transport.size());
  if (slice.data() != mine.data()) std::memcpy(slice.data(), mine.data(), slice.size());
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

void exchange(Transport& transport, std::span<const Piece> sends, std::span<const Piece> receives,
              double deadline) {
  std::vector<Transport::Ticket> tickets;
  for (const Piece& piece : receives)
    tickets.push_back(transport.receive(piece.peer, message_tag, piece.data));
  for (const Piece& piece : sends) tickets.push_back(transport.send(piece.peer, message_tag, piece.data));
  for (const auto ticket : tickets) transport.wait(ticket, deadline);
}

void barrier(Transport& transport, double deadline) {
  std::vector<std::byte> marks(static_cast<std::size_t>(transport.size()));
  gather_slices(transport, 1, marks, deadline);
}

}  // namespace lockstep::comm::collectives
