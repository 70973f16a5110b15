// How a failure of one rank becomes known to all: a Transport whose waits look around.
//
// A rank that gives up on a call says so to every other rank, with the number and the description of the call
// and the reason. Ranks that wait notice it, and say in turn where they are. After a short grace each rank
// that gave up knows who is in the same call, who is in another one and who does not answer: computing
// elsewhere, stopped or dead. All that goes by single messages that nobody has to answer; no collective.
//
// Then the messages of the call are taken back. Their memory outlasts the algorithm that fails: tensors are
// the call's, which stays, and an algorithm's own is in rooms (room.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.h"

namespace lockstep::comm {

class RollCall final : public Transport {
 public:
  // All ranks make one on the same transport before its first message. Others leave the tag 32767 alone.
  // `limit` is what deadlines are made from, for the text of errors; `grace` is how long the roll is called.
  RollCall(std::unique_ptr<Transport> transport, double limit, double grace);

  // What follows belongs to this call: `number` counts this rank's calls.
  void enter(std::int64_t number, std::string what);
  // Tells the others, hears them, and throws Error(peer_failed) that says all that is known. Once; later it
  // throws the same error.
  [[noreturn]] void give_up(const std::string& reason);
  // Gives up where another rank has given up: now and then, for whoever waits for something else than a
  // message. Never blocks else.
  void look_around();
  // Any thread, once: whoever looks around next gives up with this reason, and hears the others for a moment
  // only, as this process is about to end.
  void depart(const std::string& reason);

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& host(int rank) const override { return inner_->host(rank); }
  int peer(Ticket ticket) const override { return inner_->peer(ticket); }
  std::shared_ptr<std::atomic<int>> waits() const override { return inner_->waits(); }
  // These give up where the transport fails; the waits also where another rank has given up.
  Ticket send(int peer, int tag, std::span<const std::byte> data) override;
  Ticket receive(int peer, int tag, std::span<std::byte> data) override;
  bool test(Ticket ticket) override;
  bool wait_until(Ticket ticket, double until) override;
  void wait(Ticket ticket, double deadline) override;
  bool all_reduce_f32(std::span<float> data) override;
  void withdraw_all_but(int tag) noexcept override { inner_->withdraw_all_but(tag); }
  bool close() noexcept override { return inner_->close(); }
  // Waits then throw Error(peer_failed), without a word to the others.
  void interrupt() noexcept override;
  // Of the transport below.
  std::unique_ptr<Transport> duplicate() override { return inner_->duplicate(); }

 private:
  // What ranks tell each other.
  struct Note {
    std::int64_t call = 0;
    int origin = 0;  // the rank that gave up first, as far as is known; the reason is its
    std::array<char, 120> what{};
    std::array<char, 384> reason{};
  };
  struct Peer {
    Note note;
    Ticket coming{};
    bool heard = false;
  };

  template <typename Step>
  auto attempt(const Step& step);
  bool hear(int rank, double until);
  void ask(int rank, double until);
  [[noreturn]] void fail(int origin, const std::string& reason);
  void call_the_roll(int origin, const std::string& reason);
  std::string name_of(int rank) const;
  std::string findings() const;

  double limit_;
  double grace_;
  std::int64_t call_ = 0;
  std::string what_ = "its beginning";
  std::string failure_;
  std::atomic<bool> interrupted_{false};
  std::string departure_;  // the reason, once departing_ is true
  std::atomic<bool> departing_{false};
  Note mine_;
  std::vector<Peer> peers_;
  // Last, so that it goes first: it may still know the memory of the notes.
  std::unique_ptr<Transport> inner_;
};

}  // namespace lockstep::comm
