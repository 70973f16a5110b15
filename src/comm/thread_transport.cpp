#include "comm/thread_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace lockstep::comm {

namespace {

// One end of a message. Guarded by the mutex of its box.
struct Post {
  int owner = 0;
  std::span<std::byte> room;        // of a receive
  std::span<const std::byte> data;  // of a send
  std::size_t came = 0;             // bytes that were sent, for a receive that is done
  bool done = false;
};

// Where the messages to one rank meet: sends that nobody has asked for and receives that nothing came for.
struct Box {
  using Posts = std::deque<std::shared_ptr<Post>>;
  struct Line {
    Posts sends;
    Posts receives;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, Line> lines;  // by sender and tag

  // Either of the two meets its other end or queues up.
  void send(int from, int tag, const std::shared_ptr<Post>& post) {
    const std::lock_guard guard(mutex);
    Line& line = lines[{from, tag}];
    if (line.receives.empty()) {
      line.sends.push_back(post);
    } else {
      deliver(*post, *line.receives.front());
      line.receives.pop_front();
    }
  }

  void receive(int from, int tag, const std::shared_ptr<Post>& post) {
    const std::lock_guard guard(mutex);
    Line& line = lines[{from, tag}];
    if (line.sends.empty()) {
      line.receives.push_back(post);
    } else {
      deliver(*line.sends.front(), *post);
      line.sends.pop_front();
    }
  }

  template <typename Keep>
  void withdraw(int owner, const Keep& is_kept) {
    const std::lock_guard guard(mutex);
    const auto is_owned = [&](const std::shared_ptr<Post>& post) { return post->owner == owner; };
    for (auto& [key, line] : lines) {
      if (is_kept(key.second)) continue;
      std::erase_if(line.sends, is_owned);
      std::erase_if(line.receives, is_owned);
    }
  }

 private:
  void deliver(Post& sent, Post& received) {
    const std::size_t length = std::min(sent.data.size(), received.room.size());
    if (length > 0) std::memcpy(received.room.data(), sent.data.data(), length);
    received.came = sent.data.size();
    sent.done = true;
    received.done = true;
    changed.notify_all();
  }
};

// The ranks of one communicator.
class World {
 public:
  explicit World(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) boxes_.push_back(std::make_unique<Box>());
  }

  int size() const { return static_cast<int>(hosts_.size()); }
  const std::string& host(int rank) const { return hosts_.at(static_cast<std::size_t>(rank)); }
  Box& box(int rank) { return *boxes_.at(static_cast<std::size_t>(rank)); }
  const std::vector<std::unique_ptr<Box>>& boxes() const { return boxes_; }

  // Duplicate number `number` of this one: the first rank that asks makes it.
  std::shared_ptr<World> duplicate(std::size_t number) {
    const std::lock_guard guard(mutex_);
    while (duplicates_.size() <= number) duplicates_.push_back(std::make_shared<World>(hosts_));
    return duplicates_[number];
  }

 private:
  std::vector<std::string> hosts_;
  std::vector<std::unique_ptr<Box>> boxes_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<World>> duplicates_;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<World> world, int rank, std::shared_ptr<std::atomic<int>> waits)
      : world_(std::move(world)), rank_(rank), waits_(std::move(waits)) {}

  ~ThreadTransport() override { ThreadTransport::close(); }

  int rank() const override { return rank_; }
  int size() const override { return world_->size(); }
  const std::string& host(int rank) const override { return world_->host(rank); }

  Ticket send(int peer, int tag, std::span<const std::byte> data) override {
    auto post = std::make_shared<Post>();
    post->owner = rank_;
    post->data = data;
    world_->box(peer).send(rank_, tag, post);
    return keep({std::move(post), peer, false});
  }

  Ticket receive(int peer, int tag, std::span<std::byte> data) override {
    auto post = std::make_shared<Post>();
    post->owner = rank_;
    post->room = data;
    world_->box(rank_).receive(peer, tag, post);
    return keep({std::move(post), peer, true});
  }

  int peer(Ticket ticket) const override { return ends_[ticket.slot].peer; }

  bool test(Ticket ticket) override {
    Box& box = box_of(ends_[ticket.slot]);
    {
      const std::lock_guard guard(box.mutex);
      if (!ends_[ticket.slot].post->done) return false;
    }
    spend(ticket);
    return true;
  }

  bool wait_until(Ticket ticket, double until) override {
    constexpr double longest = 1e6;
    const Post& post = *ends_[ticket.slot].post;
    Box& box = box_of(ends_[ticket.slot]);
    {
      std::unique_lock guard(box.mutex);
      const std::chrono::duration<double> rest(std::min(until - monotonic_seconds(), longest));
      box.changed.wait_for(guard, rest, [&] { return post.done || interrupted_; });
      if (!post.done) return false;
    }
    spend(ticket);
    return true;
  }

  void withdraw_all_but(int tag) noexcept override {
    for (const auto& box : world_->boxes()) box->withdraw(rank_, [&](int other) { return other == tag; });
  }

  bool close() noexcept override {
    for (const auto& box : world_->boxes()) box->withdraw(rank_, [](int /*tag*/) { return false; });
    return true;
  }

  void interrupt() noexcept override {
    interrupted_ = true;
    for (const auto& box : world_->boxes()) {
      const std::lock_guard guard(box->mutex);
      box->changed.notify_all();
    }
  }

  std::shared_ptr<std::atomic<int>> waits() const override { return waits_; }

  std::unique_ptr<Transport> duplicate() override {
    return std::make_unique<ThreadTransport>(world_->duplicate(duplicates_++), rank_, waits_);
  }

 private:
  struct End {
    std::shared_ptr<Post> post;
    int peer = 0;
    bool is_receive = false;
  };

  Box& box_of(const End& end) { return world_->box(end.is_receive ? rank_ : end.peer); }

  Ticket keep(End end) {
    if (free_.empty()) {
      free_.push_back(ends_.size());
      ends_.emplace_back();
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    ends_[slot] = std::move(end);
    return {slot};
  }

  // The message is done: nobody else looks at its end any more.
  void spend(Ticket ticket) {
    const End end = std::exchange(ends_[ticket.slot], {});
    free_.push_back(ticket.slot);
    if (end.is_receive && end.post->came != end.post->room.size())
      throw_wrong_length(end.post->room.size(), end.peer, fmt::format("{}", end.post->came));
  }

  std::shared_ptr<World> world_;
  int rank_;
  std::shared_ptr<std::atomic<int>> waits_;
  std::vector<End> ends_;
  std::vector<std::size_t> free_;
  std::size_t duplicates_ = 0;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int size, std::vector<std::string> hosts) {
  hosts.resize(static_cast<std::size_t>(size), hosts.empty() ? "node0" : hosts.back());
  const auto world = std::make_shared<World>(std::move(hosts));
  std::vector<std::unique_ptr<Transport>> result;
  for (int rank = 0; rank < size; ++rank)
    result.push_back(std::make_unique<ThreadTransport>(world, rank, std::make_shared<std::atomic<int>>(0)));
  return result;
}

}  // namespace lockstep::comm
