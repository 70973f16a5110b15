// Bytes between the ranks of one communicator: the ground that the algorithms stand on, so that each is
// written once and runs over MPI as well as between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::comm {

// Used by one thread at a time. Messages of one pair of ranks with one tag arrive in the order in which they
// were sent. Failures of the library throw Error(peer_failed).
class Transport {
 public:
  // A message under way.
  struct Ticket {
    std::size_t slot;
  };

  // What wait() throws when the time is up or interrupt() was called; whoever knows more about the ranks
  // makes an Error of it.
  struct TimeOut : std::runtime_error {
    explicit TimeOut(int peer) : std::runtime_error("no word from a peer"), peer(peer) {}
    int peer;  // of the message that was waited for
  };

  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& host(int rank) const = 0;

  // 0 <= tag < 32768. The memory stays untouched until the ticket has been redeemed by test() or wait().
  // A message longer than the receiver's memory is an error at the receiver; a shorter one is, too.
  virtual Ticket send(int peer, int tag, std::span<const std::byte> data) = 0;
  virtual Ticket receive(int peer, int tag, std::span<std::byte> data) = 0;
  // True: done, and the ticket is spent.
  virtual bool test(Ticket ticket) = 0;
  // Gives up at `deadline` (monotonic_seconds()).
  virtual void wait(Ticket ticket, double deadline) = 0;

  // Makes waits of this rank throw TimeOut, now and later. Any thread.
  virtual void interrupt() noexcept = 0;

  // The same ranks, messages of its own. Collective.
  virtual std::unique_ptr<Transport> duplicate() = 0;

 protected:
  Transport() = default;
};

}  // namespace lockstep::comm
