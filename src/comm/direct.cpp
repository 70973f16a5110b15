#include "comm/direct.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "comm/room.h"
#include "comm/sum.h"

namespace lockstep::comm {

namespace {

constexpr int term_tag = 11;
constexpr int sum_tag = 12;

class Direct {
 public:
  Direct(const Team& team, device::DType dtype, std::span<std::byte> data, const DirectFlow& flow,
         bool gather, double deadline)
      : team_(team),
        dtype_(dtype),
        data_(data),
        gather_(gather),
        deadline_(deadline),
        element_(size_of(dtype)),
        peers_(static_cast<std::size_t>(team.size()) - 1) {
    const std::size_t largest = data.size() / static_cast<std::size_t>(team.size()) + element_;
    segments_ = std::max<std::size_t>(1, (largest + flow.segment - 1) / flow.segment);
    constexpr std::size_t least = 2;  // one that travels while another is added
    window_ = std::min(segments_, std::max(least, static_cast<std::size_t>(flow.window) / peers_));
    room_bytes_ = (largest / segments_ / element_ + 2) * element_;
    room_.emplace(team.transport, window_ * peers_ * room_bytes_);
  }

  void run() {
    for (std::size_t k = 0; k < window_; ++k) start(k);
    for (std::size_t k = 0; k < segments_; ++k) {
      add_up(k);
      if (k + window_ < segments_) start(k + window_);
      if (gather_) hand_out(k);
    }
    finish(terms_sent_);
    finish(sums_);
  }

 private:
  using Tickets = std::vector<Transport::Ticket>;

  std::span<std::byte> segment(int place, std::size_t k) const {
    return slice_of(slice_of(data_, element_, place, team_.size()), element_, k, segments_);
  }
  // Peers are counted from the next place on, so that not all ranks turn to the same one first.
  int place_of(std::size_t peer) const { return (team_.me + 1 + static_cast<int>(peer)) % team_.size(); }
  std::span<std::byte> room(std::size_t peer, std::size_t k) {
    return room_->bytes().subspan((k % window_ * peers_ + peer) * room_bytes_, segment(team_.me, k).size());
  }

  void start(std::size_t k) {
    for (std::size_t peer = 0; peer < peers_; ++peer) {
      terms_.push_back(team_.transport.receive(team_.rank_at(place_of(peer)), term_tag, room(peer, k)));
    }
    for (std::size_t peer = 0; peer < peers_; ++peer) {
      const int place = place_of(peer);
      terms_sent_.push_back(team_.transport.send(team_.rank_at(place), term_tag, segment(place, k)));
    }
  }

  void add_up(std::size_t k) {
    finish_first(terms_);
    const auto sum = segment(team_.me, k);
    std::vector<const std::byte*> terms(peers_ + 1);
    terms[static_cast<std::size_t>(team_.me)] = sum.data();
    for (std::size_t peer = 0; peer < peers_; ++peer) {
      terms[static_cast<std::size_t>(place_of(peer))] = room(peer, k).data();
    }
    sum_in_order(dtype_, terms, sum.data(), sum.size() / element_);
  }

  // The sums of others replace terms that must have left before.
  void hand_out(std::size_t k) {
    finish_first(terms_sent_);
    for (std::size_t peer = 0; peer < peers_; ++peer) {
      const int place = place_of(peer);
      sums_.push_back(team_.transport.receive(team_.rank_at(place), sum_tag, segment(place, k)));
    }
    for (std::size_t peer = 0; peer < peers_; ++peer) {
      sums_.push_back(team_.transport.send(team_.rank_at(place_of(peer)), sum_tag, segment(team_.me, k)));
    }
  }

  // Those of the oldest segment.
  void finish_first(Tickets& tickets) {
    for (std::size_t peer = 0; peer < peers_; ++peer) team_.transport.wait(tickets[peer], deadline_);
    tickets.erase(tickets.begin(), tickets.begin() + static_cast<std::ptrdiff_t>(peers_));
  }

  void finish(Tickets& tickets) {
    for (const auto ticket : tickets) team_.transport.wait(ticket, deadline_);
    tickets.clear();
  }

  const Team& team_;
  device::DType dtype_;
  std::span<std::byte> data_;
  bool gather_;
  double deadline_;
  std::size_t element_;
  std::size_t peers_;
  std::size_t segments_ = 1;  // of a slice
  std::size_t window_ = 1;
  std::size_t room_bytes_ = 0;
  std::optional<Room> room_;  // where the others' terms arrive
  Tickets terms_;
  Tickets terms_sent_;
  Tickets sums_;
};

}  // namespace

void direct_reduce_scatter(const Team& team, device::DType dtype, std::span<std::byte> data,
                           const DirectFlow& flow, double deadline) {
  if (team.size() > 1) Direct(team, dtype, data, flow, false, deadline).run();
}

void direct_all_reduce(const Team& team, device::DType dtype, std::span<std::byte> data,
                       const DirectFlow& flow, double deadline) {
  if (team.size() > 1) Direct(team, dtype, data, flow, true, deadline).run();
}

}  // namespace lockstep::comm
