#include "comm/host_collectives.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.h"

namespace lockstep::comm::collectives {

namespace {

constexpr int message_tag = 1;
constexpr int slice_tag = 2;
constexpr int gather_tag = 3;
constexpr int broadcast_tag = 4;

// Slice r of `size` of the whole, on whole elements.
template <typename Bytes>
Bytes slice_of(Bytes all, std::size_t element, int rank, int size) {
  const std::size_t elements = all.size() / element;
  const auto begin = elements * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size);
  const auto end = elements * static_cast<std::size_t>(rank + 1) / static_cast<std::size_t>(size);
  return all.subspan(begin * element, (end - begin) * element);
}

void add(std::span<std::byte> to, std::span<const std::byte> from) {
  auto* const sum = reinterpret_cast<float*>(to.data());
  const auto* const term = reinterpret_cast<const float*>(from.data());
  const std::size_t count = to.size() / sizeof(float);
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) sum[i] += term[i];
}

// Each rank's slice goes to its owner, which adds them in rank order.
void reduce_slices(Transport& transport, std::span<std::byte> all, double deadline) {
  const int size = transport.size();
  const int me = transport.rank();
  const std::span<std::byte> mine = slice_of(all, sizeof(float), me, size);
  std::vector<std::vector<std::byte>> rooms(static_cast<std::size_t>(size),
                                            std::vector<std::byte>(mine.size()));
  std::vector<Transport::Ticket> tickets;
  std::copy(mine.begin(), mine.end(), rooms[static_cast<std::size_t>(me)].begin());
  for (int step = 1; step < size; ++step) {
    const int from = (me - step + size) % size;
    tickets.push_back(transport.receive(from, slice_tag, rooms[static_cast<std::size_t>(from)]));
  }
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    tickets.push_back(transport.send(to, slice_tag, slice_of(all, sizeof(float), to, size)));
  }
  for (const auto ticket : tickets) transport.wait(ticket, deadline);
  std::copy(rooms[0].begin(), rooms[0].end(), mine.begin());
  for (std::size_t rank = 1; rank < rooms.size(); ++rank) add(mine, rooms[rank]);
}

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

void need_f32(device::DType dtype) {
  if (dtype != device::DType::f32) throw Error(ExitCode::internal, "sums are made of f32 tensors alone");
}

}  // namespace

void all_reduce(Transport& transport, device::DType dtype, std::span<std::byte> data, double deadline) {
  need_f32(dtype);
  reduce_slices(transport, data, deadline);
  gather_slices(transport, sizeof(float), data, deadline);
}

void reduce_scatter(Transport& transport, device::DType dtype, std::span<std::byte> all,
                    std::span<std::byte> mine, double deadline) {
  need_f32(dtype);
  reduce_slices(transport, all, deadline);
  const auto slice = slice_of(all, sizeof(float), transport.rank(), transport.size());
  if (slice.data() != mine.data()) std::memcpy(mine.data(), slice.data(), slice.size());
}

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
