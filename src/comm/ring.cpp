#include "comm/ring.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "comm/room.h"
#include "comm/sum.h"

namespace lockstep::comm {

namespace {

constexpr int ring_tag = 10;

// All messages of a rank, numbered in the order in which they travel: round by round, in a round segment by
// segment. What is received with one number is what is sent with the number one round later.
class Ring {
 public:
  Ring(const Team& team, std::span<std::byte> data, const RingFlow& flow, bool gather, double deadline)
      : team_(team), data_(data), deadline_(deadline), size_(team.size()) {
    const std::size_t largest = data.size() / static_cast<std::size_t>(size_) + sizeof(float);
    segments_ = std::max<std::size_t>(1, (largest + flow.segment - 1) / flow.segment);
    rounds_ = static_cast<std::size_t>(size_ - 1) * (gather ? 2 : 1);
    window_ = std::min(segments_, static_cast<std::size_t>(flow.window));
    summing_ = static_cast<std::size_t>(size_ - 1) * segments_;
    room_bytes_ = (largest / segments_ / sizeof(float) + 2) * sizeof(float);
    room_.emplace(team.transport, window_ * room_bytes_);
  }

  void run() {
    const std::size_t messages = rounds_ * segments_;
    for (std::size_t i = 0; i < window_; ++i) receive(i);
    for (std::size_t i = 0; i < window_; ++i) send(i);
    for (std::size_t i = 0; i < messages; ++i) {
      team_.transport.wait(receives_.front(), deadline_);
      receives_.pop_front();
      if (i < summing_) {
        const auto sum = outgoing(i + segments_);
        add(reinterpret_cast<float*>(sum.data()), reinterpret_cast<const float*>(room(i).data()),
            sum.size() / sizeof(float));
      }
      // One comes, one goes: so no more than the window is ever under way, without a word about it. The
      // window is within a round, so what goes has come.
      if (i + window_ < messages) {
        receive(i + window_);
        send(i + window_);
      }
    }
    while (!sends_.empty()) finish_send();
  }

 private:
  // A segment of the slice that this rank sends in message `number`; one round earlier it receives the same.
  std::span<std::byte> outgoing(std::size_t number) const {
    const auto round = static_cast<int>(number / segments_);
    const int slice = ((team_.me - 1 - round) % size_ + 2 * size_) % size_;
    return slice_of(slice_of(data_, sizeof(float), slice, size_), sizeof(float), number % segments_,
                    segments_);
  }

  std::span<std::byte> room(std::size_t number) {
    const std::size_t bytes = outgoing(number + segments_).size();
    return room_->bytes().subspan(number % window_ * room_bytes_, bytes);
  }

  void receive(std::size_t number) {
    // A finished sum replaces a part of it that must have left before.
    if (number >= summing_) {
      while (sent_ <= number - summing_) finish_send();
    }
    const auto to = number < summing_ ? room(number) : outgoing(number + segments_);
    receives_.push_back(team_.transport.receive(team_.rank_at(team_.me - 1), ring_tag, to));
  }

  void send(std::size_t number) {
    sends_.push_back(team_.transport.send(team_.rank_at(team_.me + 1), ring_tag, outgoing(number)));
  }

  void finish_send() {
    team_.transport.wait(sends_.front(), deadline_);
    sends_.pop_front();
    ++sent_;
  }

  const Team& team_;
  std::span<std::byte> data_;
  double deadline_;
  int size_;
  std::size_t segments_ = 1;  // of a slice, and so messages of a round
  std::size_t rounds_ = 0;
  std::size_t window_ = 1;
  std::size_t summing_ = 0;  // messages of the rounds that add
  std::size_t room_bytes_ = 0;
  std::optional<Room> room_;  // where terms arrive
  std::deque<Transport::Ticket> receives_;
  std::deque<Transport::Ticket> sends_;
  std::size_t sent_ = 0;
};

}  // namespace

void ring_reduce_scatter(const Team& team, std::span<std::byte> data, const RingFlow& flow, double deadline) {
  if (team.size() > 1) Ring(team, data, flow, false, deadline).run();
}

void ring_all_reduce(const Team& team, std::span<std::byte> data, const RingFlow& flow, double deadline) {
  if (team.size() > 1) Ring(team, data, flow, true, deadline).run();
}

}  // namespace lockstep::comm
