#include "comm/mpi_transport.h"

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

class MpiTransport final : public Transport {
 public:
  MpiTransport(std::unique_ptr<MpiGroup> group, std::shared_ptr<std::atomic<int>> waits)
      : group_(std::move(group)), waits_(std::move(waits)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  const std::string& host(int rank) const override { return group_->host(rank); }

  Ticket send(int peer, int tag, std::span<const std::byte> data) override {
    const std::size_t slot = free_slot(peer);
    check(MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, peer, tag, group_->native(),
                    &messages_[slot].request),
          "start a send", peer);
    return {slot};
  }

  Ticket receive(int peer, int tag, std::span<std::byte> data) override {
    const std::size_t slot = free_slot(peer);
    messages_[slot].wanted = static_cast<int>(data.size());
    check(MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, peer, tag, group_->native(),
                    &messages_[slot].request),
          "start a receive", peer);
    return {slot};
  }

  bool test(Ticket ticket) override {
    Message& message = messages_[ticket.slot];
    int done = 0;
    MPI_Status status;
    check(MPI_Test(&message.request, &done, &status), "go on with a message", message.peer);
    if (done == 0) return false;
    if (message.wanted >= 0) {
      int came = 0;
      MPI_Get_count(&status, MPI_BYTE, &came);
      if (came != message.wanted) {
        throw Error(
            ExitCode::peer_failed,
            fmt::format("rank {} on {} expects {} bytes from rank {} on {}, which sent {}: the ranks "
                        "do not make the same calls",
                        rank(), host(rank()), message.wanted, message.peer, host(message.peer), came));
      }
    }
    free_.push_back(ticket.slot);
    return true;
  }

  void wait(Ticket ticket, double deadline) override {
    const int peer = messages_[ticket.slot].peer;
    ++*waits_;
    while (!test(ticket)) {
      if (interrupted_ || monotonic_seconds() > deadline) {
        --*waits_;
        throw TimeOut(peer);
      }
    }
    --*waits_;
  }

  void interrupt() noexcept override { interrupted_ = true; }

  std::unique_ptr<Transport> duplicate() override {
    auto twin = std::make_unique<MpiGroup>(group_->native());
    return std::make_unique<MpiTransport>(std::move(twin), waits_);
  }

 private:
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    int peer = 0;
    int wanted = -1;  // bytes; -1: a send
  };

  std::size_t free_slot(int peer) {
    if (free_.empty()) {
      free_.push_back(messages_.size());
      messages_.emplace_back();
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    messages_[slot] = {MPI_REQUEST_NULL, peer, -1};
    return slot;
  }

  void check(int status, std::string_view what, int peer) const {
    if (status == MPI_SUCCESS) return;
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    throw Error(ExitCode::peer_failed, fmt::format("rank {} on {}: MPI cannot {} with rank {} on {}: {}",
                                                   rank(), host(rank()), what, peer, host(peer), text));
  }

  std::unique_ptr<MpiGroup> group_;
  std::shared_ptr<std::atomic<int>> waits_;
  std::vector<Message> messages_;
  std::vector<std::size_t> free_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const MpiGroup& group) {
  auto twin = std::make_unique<MpiGroup>(group.native());
  twin->count_waits_with(group);
  return std::make_unique<MpiTransport>(std::move(twin), group.shared_waits());
}

}  // namespace lockstep::comm
