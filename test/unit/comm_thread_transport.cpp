#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "core/clock.h"
#include "core/error.h"
#include "ranks.h"

namespace {

using lockstep::monotonic_seconds;
using lockstep::comm::Transport;

double soon() {
  return monotonic_seconds() + 60;
}

std::vector<std::byte> numbered(std::size_t count, int seed) {
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  return result;
}

}  // namespace

TEST_CASE("messages between threads arrive in order, by tag, and to oneself") {
  for (const int size : {1, 2, 3, 8}) {
    as_ranks(size, {}, [&](std::unique_ptr<Transport> transport) {
      const int me = transport->rank();
      std::vector<std::vector<std::byte>> sent, came;
      std::vector<Transport::Ticket> tickets;
      for (int peer = 0; peer < size; ++peer) {
        for (int tag = 0; tag < 3; ++tag) {
          sent.push_back(numbered(static_cast<std::size_t>(10 * tag), me + peer + tag));
          came.emplace_back(sent.back().size());
        }
      }
      for (int peer = 0; peer < size; ++peer) {
        for (int tag = 0; tag < 3; ++tag) {
          const auto i = static_cast<std::size_t>(3 * peer + tag);
          const auto backwards = static_cast<std::size_t>(3 * peer + 2 - tag);
          tickets.push_back(transport->receive(peer, 2 - tag, came[backwards]));
          tickets.push_back(transport->send(peer, tag, sent[i]));
        }
      }
      for (const auto ticket : tickets) transport->wait(ticket, soon());
      need(sent == came, "what came");
    });
  }
}

TEST_CASE("a message between threads of another length than wanted is told at the receiver") {
  REQUIRE_THROWS_WITH(as_ranks(2, {"n0", "n1"},
                               [](std::unique_ptr<Transport> transport) {
                                 std::vector<std::byte> data(transport->rank() == 0 ? 4 : 5);
                                 const auto ticket = transport->rank() == 0 ? transport->send(1, 0, data)
                                                                            : transport->receive(0, 0, data);
                                 transport->wait(ticket, soon());
                               }),
                      Catch::Contains("rank 1 on n1 of 2 expects 5 bytes from rank 0 on n0, which sent 4"));
}

TEST_CASE("a wait between threads ends at its time and by interrupt, and the message stays") {
  auto transports = lockstep::comm::make_thread_transports(2);
  Transport& first = *transports[0];
  std::vector<std::byte> data(3), room(3);
  const auto ticket = first.receive(1, 0, room);
  CHECK_FALSE(first.wait_until(ticket, monotonic_seconds()));
  CHECK_THROWS_AS(first.wait(ticket, monotonic_seconds() + 0.001), Transport::TimeOut);
  std::jthread other([&] { first.interrupt(); });
  CHECK_FALSE(first.wait_until(ticket, soon()));
  data[0] = std::byte{9};
  transports[1]->wait(transports[1]->send(0, 0, data), soon());
  CHECK(first.test(ticket));
  CHECK(room == data);
}

TEST_CASE("duplicates between threads have messages of their own, and a rank that left touches no memory") {
  auto transports = lockstep::comm::make_thread_transports(2);
  const auto twin1 = transports[1]->duplicate();
  const auto other_twin1 = transports[1]->duplicate();
  const auto twin0 = transports[0]->duplicate();
  std::vector<std::byte> data = numbered(4, 1), room(4), same_room(4);
  const auto ticket = twin0->receive(1, 0, room);
  other_twin1->send(0, 0, data);
  transports[1]->send(0, 0, data);
  CHECK_FALSE(twin0->test(ticket));
  twin1->send(0, 0, data);
  CHECK(twin0->test(ticket));

  transports[1].reset();
  const auto lost = transports[0]->receive(1, 0, same_room);
  CHECK_FALSE(transports[0]->test(lost));
}
