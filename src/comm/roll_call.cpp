#include "comm/roll_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

constexpr int note_tag = 32767;
constexpr double look_every_seconds = 0.1;
constexpr double parting_seconds = 0.2;
constexpr double departure_seconds = 1;
constexpr std::size_t most_named = 8;  // ranks in a list

template <std::size_t size>
void write(std::array<char, size>& field, std::string_view text) {
  text.copy(field.data(), std::min(text.size(), size - 1));
}

template <std::size_t size>
std::string_view read(const std::array<char, size>& field) {
  return {field.data(),
          static_cast<std::size_t>(std::find(field.begin(), field.end(), '\0') - field.begin())};
}

std::string list(const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), most_named);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

template <typename Note>
std::span<std::byte> bytes_of(Note& note) {
  return std::as_writable_bytes(std::span(&note, 1));
}

}  // namespace

RollCall::RollCall(std::unique_ptr<Transport> transport, double limit, double grace)
    : limit_(limit),
      grace_(grace),
      peers_(static_cast<std::size_t>(transport->size())),
      inner_(std::move(transport)) {
  for (int rank = 0; rank < size(); ++rank) {
    Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (rank == this->rank()) {
      peer.heard = true;
    } else {
      peer.coming = inner_->receive(rank, note_tag, bytes_of(peer.note));
    }
  }
}

void RollCall::enter(std::int64_t number, std::string what) {
  call_ = number;
  what_ = std::move(what);
}

template <typename Step>
auto RollCall::attempt(const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    give_up(error.what());
  }
}

Transport::Ticket RollCall::send(int peer, int tag, std::span<const std::byte> data) {
  return attempt([&] { return inner_->send(peer, tag, data); });
}

Transport::Ticket RollCall::receive(int peer, int tag, std::span<std::byte> data) {
  return attempt([&] { return inner_->receive(peer, tag, data); });
}

bool RollCall::test(Ticket ticket) {
  return attempt([&] { return inner_->test(ticket); });
}

bool RollCall::all_reduce_f32(std::span<float> data) {
  return attempt([&] { return inner_->all_reduce_f32(data); });
}

bool RollCall::wait_until(Ticket ticket, double until) {
  for (;;) {
    const double next_look = monotonic_seconds() + look_every_seconds;
    if (attempt([&] { return inner_->wait_until(ticket, std::min(until, next_look)); })) return true;
    look_around();
    if (monotonic_seconds() >= until) return false;
  }
}

void RollCall::wait(Ticket ticket, double deadline) {
  const int peer = inner_->peer(ticket);
  if (!wait_until(ticket, deadline))
    give_up(fmt::format("no word from {} within {:g} s", name_of(peer), limit_));
}

void RollCall::interrupt() noexcept {
  interrupted_ = true;
  inner_->interrupt();
}

void RollCall::depart(const std::string& reason) {
  departure_ = reason;
  departing_ = true;
}

void RollCall::look_around() {
  if (departing_) {
    grace_ = std::min(grace_, departure_seconds);
    give_up(departure_);
  }
  if (interrupted_) {
    inner_->withdraw_all_but(note_tag);
    throw Error(ExitCode::peer_failed,
                fmt::format("{}: call {} ({}) was aborted", name_of(rank()), call_, what_));
  }
  for (int rank = 0; rank < size(); ++rank) {
    if (rank != this->rank() && attempt([&] { return hear(rank, 0); })) {
      const Note& note = peers_[static_cast<std::size_t>(rank)].note;
      fail(note.origin, std::string(read(note.reason)));
    }
  }
}

bool RollCall::hear(int rank, double until) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  if (!peer.heard) peer.heard = inner_->wait_until(peer.coming, until);
  return peer.heard;
}

void RollCall::give_up(const std::string& reason) {
  fail(rank(), reason);
}

void RollCall::fail(int origin, const std::string& reason) {
  if (failure_.empty()) {
    call_the_roll(origin, reason);
    failure_ = fmt::format("{} of {}: call {} ({}): {}{}; {}", name_of(rank()), size(), call_, what_,
                           origin == rank() ? "" : name_of(origin) + " gave up: ", reason, findings());
  }
  inner_->withdraw_all_but(note_tag);
  throw Error(ExitCode::peer_failed, failure_);
}

void RollCall::call_the_roll(int origin, const std::string& reason) {
  mine_.call = call_;
  mine_.origin = origin;
  write(mine_.what, what_);
  write(mine_.reason, reason);
  const double end = monotonic_seconds() + grace_;
  std::vector<std::pair<int, Ticket>> told;
  for (int rank = 0; rank < size(); ++rank) {
    if (rank == this->rank()) continue;
    try {
      told.emplace_back(rank, inner_->send(rank, note_tag, bytes_of(mine_)));
    } catch (const Error&) {  // the others shall know all the same
    }
  }
  for (int rank = 0; rank < size(); ++rank) ask(rank, end);
  // This process may be about to end, and MPI sends no more then. Those who have left take nothing.
  const double parting = std::min(end, monotonic_seconds() + parting_seconds);
  for (const auto& [rank, ticket] : told) {
    if (!peers_[static_cast<std::size_t>(rank)].heard) continue;
    try {
      inner_->wait_until(ticket, parting);
    } catch (const Error&) {
    }
  }
}

// A peer whose words the transport cannot bring is one that does not answer.
void RollCall::ask(int rank, double until) {
  try {
    hear(rank, until);
  } catch (const Error&) {
  }
}

std::string RollCall::name_of(int rank) const {
  return fmt::format("rank {} on {}", rank, host(rank));
}

std::string RollCall::findings() const {
  std::vector<std::string> silent, elsewhere;
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.heard) {
      silent.push_back(name_of(rank));
    } else if (rank != this->rank() && (peer.note.call != call_ || read(peer.note.what) != what_)) {
      elsewhere.push_back(
          fmt::format("{} is in call {} ({})", name_of(rank), peer.note.call, read(peer.note.what)));
    }
  }
  std::vector<std::string> parts;
  if (!silent.empty()) parts.push_back("no answer from " + list(silent));
  if (!elsewhere.empty()) parts.push_back(list(elsewhere));
  if (parts.empty()) return "all ranks are in this call";
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace lockstep::comm
