#include "comm/mpi_transport.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

// A wait naps from the start, briefly at first: Open MPI yields the core when it looks in vain, and whoever
// yields to a process that computes gets the core back when that one's slice is over. 8000 small messages
// beside one such process took 15 s with 200 us of looking before the first nap, and 0.5 s so. Long naps cost
// a large sum 20 % and more.
constexpr std::chrono::microseconds first_nap(5);
constexpr std::chrono::microseconds longest_nap(50);

// Lets the calling thread's naps be short while it lives: the kernel adds 50 us to each otherwise.
class PunctualNaps {
 public:
  PunctualNaps() { ::prctl(PR_SET_TIMERSLACK, short_slack_ns); }
  ~PunctualNaps() {
    if (before_ > 0) ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  PunctualNaps(const PunctualNaps&) = delete;
  PunctualNaps& operator=(const PunctualNaps&) = delete;

 private:
  static constexpr unsigned long short_slack_ns = 1000;
  int before_ = ::prctl(PR_GET_TIMERSLACK);
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm parent, std::vector<std::string> hosts, std::shared_ptr<std::atomic<int>> waits,
               std::size_t piece)
      : hosts_(std::move(hosts)), waits_(std::move(waits)), piece_(piece) {
    if (MPI_Comm_dup(parent, &comm_) != MPI_SUCCESS) {
      throw Error(ExitCode::peer_failed, "cannot duplicate an MPI communicator: did a rank end early?");
    }
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
  }

  ~MpiTransport() override {
    if (!MpiTransport::close()) leave_rooms();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hosts_.size()); }
  const std::string& host(int rank) const override { return hosts_.at(static_cast<std::size_t>(rank)); }

  Ticket send(int peer, int tag, std::span<const std::byte> data) override {
    const Ticket ticket = next_message(peer, tag, false, data.size());
    Message& message = messages_[ticket.slot];
    const auto start = [&](std::span<const std::byte> part, MPI_Request& request) {
      check(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, peer, tag, comm_, &request),
            "start a send", message);
    };
    in_pieces(message, data, start);
    return ticket;
  }

  Ticket receive(int peer, int tag, std::span<std::byte> data) override {
    const Ticket ticket = next_message(peer, tag, true, data.size());
    Message& message = messages_[ticket.slot];
    const auto start = [&](std::span<std::byte> part, MPI_Request& request) {
      check(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, peer, tag, comm_, &request),
            "start a receive", message);
    };
    in_pieces(message, data, start);
    return ticket;
  }

  int peer(Ticket ticket) const override { return messages_[ticket.slot].peer; }

  bool test(Ticket ticket) override {
    Message& message = messages_[ticket.slot];
    for (; message.done < message.requests.size(); ++message.done) {
      int done = 0;
      MPI_Status status;
      check(MPI_Test(&message.requests[message.done], &done, &status), "go on with a message", message);
      if (done == 0) return false;
      if (message.is_receive) check_length(message, status);
    }
    message.requests.clear();
    free_.push_back(ticket.slot);
    return true;
  }

  bool wait_until(Ticket ticket, double until) override {
    if (test(ticket)) return true;
    const PunctualNaps naps;
    auto nap = first_nap;
    do {
      if (interrupted_ || monotonic_seconds() > until) return false;
      std::this_thread::sleep_for(nap);
      nap = std::min(2 * nap, longest_nap);
    } while (!test(ticket));
    return true;
  }

  void withdraw_all_but(int tag) noexcept override {
    failed_ = true;
    for (Message& message : messages_) {
      if (message.tag != tag) take_back(message);
    }
  }

  // Makes no call that a peer would have to answer. After a failure MPI keeps the communicator: words of
  // peers may still come, and Open MPI trips over those for one that is gone.
  bool close() noexcept override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return true;
    const bool failed = failed_ || interrupted_ || std::uncaught_exceptions() > 0;
    bool all = true;
    for (Message& message : messages_) all = take_back(message) && all;
    if (all && !failed && comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    return all;
  }

  bool all_reduce_f32(std::span<float> data) override {
    constexpr std::size_t most = std::size_t{1} << 28;  // MPI counts in int
    Message message;
    message.peer = rank_;
    for (; !data.empty(); data = data.subspan(std::min(data.size(), most))) {
      const int count = static_cast<int>(std::min(data.size(), most));
      check(MPI_Allreduce(MPI_IN_PLACE, data.data(), count, MPI_FLOAT, MPI_SUM, comm_), "all-reduce",
            message);
    }
    return true;
  }

  void interrupt() noexcept override { interrupted_ = true; }

  std::shared_ptr<std::atomic<int>> waits() const override { return waits_; }

  std::unique_ptr<Transport> duplicate() override {
    return std::make_unique<MpiTransport>(comm_, hosts_, waits_, piece_);
  }

 private:
  // The pieces of a message are full but the last, which never is: so messages of unequal length show.
  struct Message {
    std::vector<MPI_Request> requests;
    std::size_t done = 0;  // the first of them
    int peer = 0;
    int tag = 0;
    bool is_receive = false;
    std::size_t length = 0;  // bytes
  };

  // Takes its slot before MPI knows of any piece: what has been started can be found even if the rest fails.
  Ticket next_message(int peer, int tag, bool is_receive, std::size_t length) {
    if (free_.empty()) {
      free_.push_back(messages_.size());
      messages_.emplace_back();
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    Message& message = messages_[slot];
    message.done = 0;
    message.peer = peer;
    message.tag = tag;
    message.is_receive = is_receive;
    message.length = length;
    return {slot};
  }

  // MPI takes back receives that have met no message. False: it still knows the message.
  static bool take_back(Message& message) noexcept {
    bool all = true;
    for (MPI_Request& request : message.requests) {
      int done = 0;
      if (request == MPI_REQUEST_NULL) continue;
      if (message.is_receive) MPI_Cancel(&request);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      all = all && done != 0;
    }
    return all;
  }

  template <typename Byte, typename Start>
  void in_pieces(Message& message, std::span<Byte> data, const Start& start) {
    for (;;) {
      const auto part = data.first(std::min(data.size(), piece_));
      start(part, message.requests.emplace_back(MPI_REQUEST_NULL));
      if (part.size() < piece_) return;
      data = data.subspan(part.size());
    }
  }

  void check_length(const Message& message, const MPI_Status& status) const {
    int came = 0;
    MPI_Get_count(&status, MPI_BYTE, &came);
    const std::size_t before = message.done * piece_;
    if (static_cast<std::size_t>(came) != std::min(message.length - before, piece_))
      throw_wrong_length(message.length, message.peer,
                         fmt::format("{}", before + static_cast<std::size_t>(came)));
  }

  void check(int status, std::string_view what, const Message& message) const {
    if (status == MPI_SUCCESS) return;
    int error_class = MPI_SUCCESS;
    MPI_Error_class(status, &error_class);
    if (error_class == MPI_ERR_TRUNCATE) throw_wrong_length(message.length, message.peer, "more");
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    throw Error(ExitCode::peer_failed,
                fmt::format("rank {} on {} of {}: MPI cannot {} with rank {} on {}: {}", rank_, host(rank_),
                            size(), what, message.peer, host(message.peer), text));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<std::string> hosts_;
  std::shared_ptr<std::atomic<int>> waits_;
  std::size_t piece_;
  std::vector<Message> messages_;
  std::vector<std::size_t> free_;
  bool failed_ = false;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(const MpiGroup& group, std::size_t piece) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < group.size(); ++rank) hosts.push_back(group.host(rank));
  return std::make_unique<MpiTransport>(group.native(), std::move(hosts), group.shared_waits(), piece);
}

}  // namespace lockstep::comm
