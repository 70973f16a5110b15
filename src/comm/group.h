// The ranks of a run, and the small blocking messages that they agree by, on the host's memory. Every call
// but rank(), size() and host() is collective: all ranks make the same calls in the same order. A failure
// throws Error(peer_failed); after it no further collective may be entered (contract C7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::comm {

class Group {
 public:
  struct Send {
    int peer;
    std::span<const std::byte> data;
  };
  struct Receive {
    int peer;
    std::span<std::byte> data;
  };

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The name of the machine that a rank runs on, gathered once at the start.
  virtual const std::string& host(int rank) const = 0;

  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> data, int root) = 0;

  // In place; the same result on every rank, and the same from run to run for the same number of ranks.
  virtual void all_reduce_sum(std::span<float> data) = 0;
  virtual void all_reduce_sum(std::span<double> data) = 0;
  virtual void all_reduce_sum(std::span<std::int64_t> data) = 0;
  virtual void all_reduce_min(std::span<std::int64_t> data) = 0;
  virtual void all_reduce_max(std::span<std::int64_t> data) = 0;

  // `all` holds size() blocks of mine.size() bytes in rank order; mine.size() is the same on every rank.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // `all` is cut into size() consecutive slices of counts[r] floats; rank r brings slice r in place.
  virtual void all_gather_slices(std::span<float> all, std::span<const std::int64_t> counts) = 0;
  // Point-to-point messages between any ranks, all at once. Messages of one pair of ranks match in list order
  // and have equal sizes on both sides; empty ones are allowed.
  virtual void exchange(std::span<const Send> sends, std::span<const Receive> receives) = 0;

  // The same ranks, messages of its own: each role (training, reducer, checkpoint) has one.
  virtual std::unique_ptr<Group> duplicate() = 0;

 protected:
  Group() = default;
};

// Replaces `text` on every rank by the root's.
void broadcast_text(Group& comm, std::string& text, int root);

// Each rank's text, in rank order, on every rank.
std::vector<std::string> gather_texts(Group& comm, std::string_view mine);

// One value of a plain type from each rank, in rank order, on every rank.
template <typename T>
std::vector<T> gather_values(Group& comm, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace lockstep::comm
