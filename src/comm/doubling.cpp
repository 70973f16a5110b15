#include "comm/doubling.h"

#include <bit>

#include "comm/room.h"
#include "comm/sum.h"
#include "device/half.h"

namespace lockstep::comm {

namespace {

constexpr int doubling_tag = 13;

void all_reduce_f32(const Team& team, std::span<float> sum, double deadline) {
  Transport& transport = team.transport;
  RoomFor<float> room(transport, sum.size());
  const auto term = room.values();
  const auto send = [&](int place) {
    transport.wait(transport.send(team.rank_at(place), doubling_tag, std::as_bytes(sum)), deadline);
  };
  const auto take = [&](int place, std::span<float> to) {
    transport.wait(transport.receive(team.rank_at(place), doubling_tag, std::as_writable_bytes(to)),
                   deadline);
  };

  // Those beyond a power of two lend their data to a partner among the first ones and wait for the result.
  const int pairs = static_cast<int>(std::bit_floor(static_cast<unsigned>(team.size())));
  if (team.me >= pairs) {
    send(team.me - pairs);
    take(team.me - pairs, sum);
    return;
  }
  const bool has_guest = team.me + pairs < team.size();
  if (has_guest) {
    take(team.me + pairs, term);
    add(sum.data(), term.data(), sum.size());
  }
  for (int distance = 1; distance < pairs; distance *= 2) {
    const int partner = team.rank_at(team.me ^ distance);
    const auto receive = transport.receive(partner, doubling_tag, room.bytes());
    const auto sent = transport.send(partner, doubling_tag, std::as_bytes(sum));
    transport.wait(receive, deadline);
    transport.wait(sent, deadline);
    add(sum.data(), term.data(), sum.size());
  }
  if (has_guest) send(team.me + pairs);
}

}  // namespace

void doubling_all_reduce(const Team& team, device::DType dtype, std::span<std::byte> data, double deadline) {
  if (team.size() == 1) return;
  if (dtype == device::DType::f32) {
    all_reduce_f32(team, {reinterpret_cast<float*>(data.data()), data.size() / sizeof(float)}, deadline);
    return;
  }
  RoomFor<float> room(team.transport, data.size() / size_of(dtype));
  const auto sum = room.values();
  widen(dtype, data.data(), sum.data(), sum.size());
  all_reduce_f32(team, sum, deadline);
  narrow(dtype, sum.data(), data.data(), sum.size());
}

}  // namespace lockstep::comm
