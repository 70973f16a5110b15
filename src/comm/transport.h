// Bytes between the ranks of one communicator: the ground that the algorithms stand on, so that each is
// written once and runs over MPI as well as between threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep::comm {

// Used by one thread at a time. Messages of one pair of ranks with one tag arrive in the order in which they
// were sent; to oneself, too. Failures of the library throw Error(peer_failed).
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

  // 0 <= tag < 32768, any length. The memory stays untouched until the ticket has been redeemed by test() or
  // a wait. A message that is longer or shorter than the receiver's memory is an error at the receiver.
  virtual Ticket send(int peer, int tag, std::span<const std::byte> data) = 0;
  virtual Ticket receive(int peer, int tag, std::span<std::byte> data) = 0;
  // The rank at the other end of a message whose ticket is not spent.
  virtual int peer(Ticket ticket) const = 0;
  // True: done, and the ticket is spent.
  virtual bool test(Ticket ticket) = 0;
  // The same at `until` (monotonic_seconds()) at the latest; false: not done by then, or interrupted. The
  // message stays under way.
  virtual bool wait_until(Ticket ticket, double until) = 0;
  // Throws TimeOut when it is not done at `deadline`.
  virtual void wait(Ticket ticket, double deadline) {
    if (!wait_until(ticket, deadline)) throw TimeOut(peer(ticket));
  }

  // For after a failure: takes back what is under way, but for messages with this tag. What the library
  // cannot take back (a message that is half there) it may touch whenever this process calls it again.
  virtual void withdraw_all_but(int tag) noexcept = 0;
  // Nothing but the destructor follows. Takes back everything; false where the library could not: the memory
  // of all messages must then stay as long as the process.
  virtual bool close() noexcept = 0;

  // The library's own sum over all ranks, where it has one: false, and nothing done, where not. Collective;
  // no limit in time.
  virtual bool all_reduce_f32(std::span<float> /*data*/) { return false; }

  // Ends waits of this rank, now and later. Any thread.
  virtual void interrupt() noexcept = 0;

  // Counts the callers of this rank who wait for peers just now; for a watcher in another thread. Whoever
  // blocks a caller on this transport's behalf counts there, not the transport.
  virtual std::shared_ptr<std::atomic<int>> waits() const = 0;

  // The same ranks, messages of its own. Collective.
  virtual std::unique_ptr<Transport> duplicate() = 0;

 protected:
  Transport() = default;
  // For the destructor of one that is used directly, where close() is false.
  void leave_rooms() noexcept { std::ignore = rooms_.release(); }
  // For whoever receives a message of another length than it wants.
  [[noreturn]] void throw_wrong_length(std::size_t wanted, int peer, std::string_view came) const;

 private:
  friend class Room;
  using Rooms = std::list<std::vector<std::byte>>;
  std::unique_ptr<Rooms> rooms_ = std::make_unique<Rooms>();
};

}  // namespace lockstep::comm
