#include "doctor/meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <optional>

#include "comm/host_collectives.h"
#include "core/clock.h"
#include "core/error.h"

namespace lockstep::doctor {

namespace {

using comm::Transport;

enum Tag : int { length_tag = 1101, text_tag, word_tag, reason_tag };

// What rank 0 tells each rank that came: the size of what follows, and whether that is everybody's text.
struct Word {
  std::uint64_t length = 0;
  std::uint64_t complete = 0;
};

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += fmt::format("{:08x}{}", text.size(), text);
  return all;
}

std::vector<std::string> parted(const std::string& all, int size) {
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (int r = 0; r < size; ++r) {
    const std::size_t length = std::stoul(all.substr(at, 8), nullptr, 16);
    texts.push_back(all.substr(at + 8, length));
    at += 8 + length;
  }
  return texts;
}

}  // namespace

// Rank 0's part. Returns who is missing, for people; empty where everybody came.
std::string Meeting::collect(std::string_view what, const std::string& mine, std::vector<std::string>& texts,
                             double deadline) {
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size()));
  std::vector<std::optional<Transport::Ticket>> tickets(static_cast<std::size_t>(size()));
  std::vector<std::string> missing;
  for (int r = 1; r < size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    tickets[i] = transport_->receive(r, length_tag, bytes_of(lengths[i]));
  }
  texts[0] = mine;
  std::vector<int> here;
  for (int r = 1; r < size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    try {
      transport_->wait(*tickets[i], deadline);
      texts[i].resize(lengths[i]);
      transport_->wait(transport_->receive(r, text_tag, std::as_writable_bytes(std::span(texts[i]))),
                       deadline);
      here.push_back(r);
    } catch (const Transport::TimeOut&) {
      missing.push_back(fmt::format("rank {} on {}", r, host(r)));
    }
  }
  std::string reason =
      missing.empty()
          ? std::string()
          : fmt::format("{}: no word from {} within {:.0f} s; is the process stuck, or its node gone?", what,
                        fmt::join(missing, ", "), limit_);
  const std::string all = missing.empty() ? joined(texts) : reason;
  Word word{all.size(), missing.empty() ? 1u : 0u};
  std::vector<Transport::Ticket> sends;
  for (const int r : here) sends.push_back(transport_->send(r, word_tag, bytes_of(word)));
  if (!missing.empty()) {
    for (const int r : here) sends.push_back(transport_->send(r, reason_tag, std::as_bytes(std::span(all))));
  }
  for (const Transport::Ticket ticket : sends) transport_->wait(ticket, deadline + limit_);
  return reason;
}

std::vector<std::string> Meeting::gather(std::string_view what, const std::string& mine) {
  if (size() == 1) return {mine};
  const double deadline = monotonic_seconds() + limit_;
  std::vector<std::string> texts(static_cast<std::size_t>(size()));
  std::string all;
  try {
    if (rank() == 0) {
      const std::string missing = collect(what, mine, texts, deadline);
      if (!missing.empty()) throw Error(ExitCode::peer_failed, missing);
      all = joined(texts);
    } else {
      std::uint64_t length = mine.size();
      Word word;
      const auto first = transport_->send(0, length_tag, bytes_of(length));
      const auto second = transport_->send(0, text_tag, std::as_bytes(std::span(mine)));
      transport_->wait(first, deadline);
      transport_->wait(second, deadline);
      // Rank 0 waits for the last one as long.
      transport_->wait(transport_->receive(0, word_tag, bytes_of(word)), deadline + limit_);
      all.resize(word.length);
      if (word.complete == 0) {
        transport_->wait(transport_->receive(0, reason_tag, std::as_writable_bytes(std::span(all))),
                         deadline + limit_);
        throw AgreedError(ExitCode::peer_failed, all);
      }
    }
    comm::collectives::broadcast(*transport_, std::as_writable_bytes(std::span(all)), 0,
                                 deadline + 2 * limit_);
  } catch (const Transport::TimeOut& late) {
    throw Error(ExitCode::peer_failed, fmt::format("{}: rank {} on {} has no word from rank {} on {}", what,
                                                   rank(), host(rank()), late.peer, host(late.peer)));
  }
  return parted(all, size());
}

}  // namespace lockstep::doctor
