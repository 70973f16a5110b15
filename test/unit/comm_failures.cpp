// What a library that fails, or does not give messages back, does to calls and their memory.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <set>

#include "collective_checks.h"
#include "comm/direct.h"
#include "comm/doubling.h"
#include "comm/host_collectives.h"
#include "comm/host_communicator.h"
#include "comm/host_sum.h"
#include "comm/ring.h"
#include "comm/sum.h"
#include "core/clock.h"
#include "core/error.h"
#include "device/half.h"
#include "ranks.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LOCKSTEP_FINDS_LEAKS
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define LOCKSTEP_FINDS_LEAKS
#endif
#ifdef LOCKSTEP_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace {

using namespace lockstep::comm;
using collective_checks::DType;
using collective_checks::make_tensor;
using lockstep::Error;
using lockstep::ExitCode;

const std::vector<std::string> nodes{"n0", "n1", "n2"};

// Fails where it is told to.
class Faulty final : public Transport {
 public:
  struct Faults {
    bool sum = false;                       // all_reduce_f32 fails, else it is nothing
    int deaf_to = -1;                       // messages of calls' failures from this rank cannot be received
    bool stuck = false;                     // messages cannot be taken back
    std::atomic<int>* destroyed = nullptr;  // counts
  };

  Faulty(std::unique_ptr<Transport> inner, const Faults& faults)
      : inner_(std::move(inner)), faults_(faults) {}
  ~Faulty() override {
    if (faults_.destroyed != nullptr) ++*faults_.destroyed;
  }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& host(int rank) const override { return inner_->host(rank); }
  int peer(Ticket ticket) const override { return inner_->peer(ticket); }
  Ticket send(int peer, int tag, std::span<const std::byte> data) override {
    return inner_->send(peer, tag, data);
  }
  Ticket receive(int peer, int tag, std::span<std::byte> data) override {
    const Ticket ticket = inner_->receive(peer, tag, data);
    if (tag == note_tag && peer == faults_.deaf_to) broken_.insert(ticket.slot);
    return ticket;
  }
  bool test(Ticket ticket) override { return inner_->test(ticket); }
  bool wait_until(Ticket ticket, double until) override {
    if (broken_.count(ticket.slot) != 0) throw Error(ExitCode::peer_failed, "the wire is cut");
    return inner_->wait_until(ticket, until);
  }
  bool all_reduce_f32(std::span<float> /*data*/) override {
    if (faults_.sum) throw Error(ExitCode::peer_failed, "the library cannot sum");
    return false;
  }
  void withdraw_all_but(int tag) noexcept override {
    if (!faults_.stuck) inner_->withdraw_all_but(tag);
  }
  bool close() noexcept override { return inner_->close() && !faults_.stuck; }
  void interrupt() noexcept override { inner_->interrupt(); }
  std::shared_ptr<std::atomic<int>> waits() const override { return inner_->waits(); }
  std::unique_ptr<Transport> duplicate() override { return inner_->duplicate(); }

 private:
  static constexpr int note_tag = 32767;
  std::unique_ptr<Transport> inner_;
  Faults faults_;
  std::set<std::size_t> broken_;
};

Team everybody(Transport& transport) {
  Team team{transport, {}, transport.rank()};
  for (int rank = 0; rank < transport.size(); ++rank) team.ranks.push_back(rank);
  return team;
}

// While it lives, no file can be opened.
class NoFiles {
 public:
  NoFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoFiles(const NoFiles&) = delete;
  NoFiles& operator=(const NoFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("all ranks learn of a sum that the library itself could not make") {
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    const bool fails = transport->rank() == 1;
    Faulty::Faults faults;
    faults.sum = fails;
    HostCommunicator comm(std::make_unique<Faulty>(std::move(transport), faults),
                          {.limit_seconds = 60, .grace_seconds = 60, .algorithm = Algorithm::mpi});
    const std::string text = failure_of([&] { comm.all_reduce(make_tensor(100, DType::f32)).wait(); });
    need_text(text, fails ? ": the library cannot sum; all ranks are in this call"
                          : "rank 1 on n1 gave up: the library cannot sum; all ranks are in this call");
  });
}

TEST_CASE("a rank that leaves for a reason of its own tells those that wait for it") {
  const bool background = GENERATE(false, true);
  const bool in_a_call =
      GENERATE(false, true);  // while it makes, or may make, one that waits for another rank
  if (in_a_call && !background) return;
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    const int rank = transport->rank();
    HostCommunicator comm(std::move(transport), {.limit_seconds = 60, .grace_seconds = 60});
    comm.set_background(background);
    if (rank == 1) {
      if (in_a_call) comm.broadcast(make_tensor(3, DType::u8), 0);
      comm.tell("the GPU is lost");
      comm.tell("the first reason stands");
      need_text(failure_of([&] { comm.all_reduce(make_tensor(100, DType::f32)).wait(); }), "the GPU is lost");
    } else {
      const std::string text = failure_of([&] { comm.all_reduce(make_tensor(100, DType::f32)).wait(); });
      need_text(text, "rank 1 on n1 gave up: the GPU is lost");
    }
  });
}

TEST_CASE("a rank that cannot hear another one says so to the others, and hears them") {
  as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
    const int rank = transport->rank();
    Faulty::Faults faults;
    faults.deaf_to = rank == 0 ? 1 : -1;
    HostCommunicator comm(std::make_unique<Faulty>(std::move(transport), faults),
                          {.limit_seconds = 60, .grace_seconds = 60});
    // Rank 2 waits for the one that waits for it: only words about the failure end this.
    const std::string text = failure_of([&] {
      if (rank == 2) comm.broadcast(make_tensor(3, DType::u8), 0).wait();
      comm.broadcast(make_tensor(3, DType::u8), rank == 0 ? 2 : 0).wait();
    });
    if (rank != 0) need_text(text, "rank 0 on n0 gave up: the wire is cut");
    if (rank == 0) need_text(text, ": the wire is cut; no answer from rank 1 on n1");
  });
}

TEST_CASE("memory of messages that cannot be taken back is not given up") {
  const bool stuck = GENERATE(false, true);
  std::atomic<int> destroyed{0};
  as_ranks(2, nodes, [&](std::unique_ptr<Transport> transport) {
#ifdef LOCKSTEP_FINDS_LEAKS
    const __lsan::ScopedDisabler meant;
#endif
    Faulty::Faults faults;
    faults.stuck = stuck;
    faults.destroyed = &destroyed;
    auto comm = std::make_unique<HostCommunicator>(std::make_unique<Faulty>(std::move(transport), faults),
                                                   HostCommunicatorOptions{.limit_seconds = 60});
    if (comm->rank() == 0) comm->abort();
    auto pending = comm->all_reduce(make_tensor(100, DType::f32));
    if (comm->rank() == 0) failure_of([&] { pending.wait(); });
  });
  CHECK(destroyed == (stuck ? 0 : 2));
}

// Memory of the same size as the algorithm's would be the next to be handed out, had the algorithm freed it.
TEST_CASE("what comes after an algorithm has given up changes nobody else's memory") {
  constexpr std::size_t count = 500;
  constexpr int end_tag = 1000;
  const auto algorithm = GENERATE(values<void (*)(Transport&, std::span<std::byte>)>({
      [](Transport& transport, std::span<std::byte> data) {
        doubling_all_reduce(everybody(transport), DType::f32, data, 0);
      },
      [](Transport& transport, std::span<std::byte> data) {
        doubling_all_reduce(everybody(transport), DType::bf16, data, 0);
      },
      [](Transport& transport, std::span<std::byte> data) {
        direct_all_reduce(everybody(transport), DType::f32, data, {}, 0);
      },
      [](Transport& transport, std::span<std::byte> data) {
        ring_all_reduce(everybody(transport), data, {}, 0);
      },
      [](Transport& transport, std::span<std::byte> /*data*/) { collectives::barrier(transport, 0); },
  }));
  std::latch gone(1);
  as_ranks(2, nodes, [&](std::unique_ptr<Transport> transport) {
    std::vector<std::byte> data(count * sizeof(float), std::byte{1});
    if (transport->rank() == 1) gone.wait();
    const auto run = [&] {
      try {
        algorithm(*transport, data);
      } catch (const Transport::TimeOut&) {
        return true;
      }
      return false;
    };
    const bool late = run();
    if (transport->rank() == 1) {
      transport->wait(transport->send(0, end_tag, {}), lockstep::monotonic_seconds() + 60);
      return;
    }
    need(late, "nothing was missing");
    std::vector<std::vector<std::byte>> others;
    for (std::size_t size = 2; size <= 8 * count; size = size < 64 ? size + 1 : size + 4) {
      others.emplace_back(size, std::byte{2});
    }
    gone.count_down();
    transport->wait(transport->receive(1, end_tag, {}), lockstep::monotonic_seconds() + 60);
    for (const auto& other : others) {
      need(std::count(other.begin(), other.end(), std::byte{2}) == std::ssize(other), "memory of others");
    }
  });
}

TEST_CASE("sums go on in one level where nodes cannot share memory, and say so") {
  const std::vector<std::string> pairs{"a", "a", "b", "b"};
  constexpr std::size_t count = 300001;
  const NoFiles none;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    std::atomic<int> told{0};
    as_ranks(4, pairs, [&](std::unique_ptr<Transport> transport) {
      HostSum sum(*transport, Algorithm::automatic, [&] { ++told; });
      const std::size_t bytes = count * size_of(dtype);
      need(sum.choice(dtype, bytes).two_levels, "two levels are wanted");
      for (int round = 0; round < 2; ++round) {
        const std::vector<float> ones(count, 1), fours(count, 4);
        std::vector<std::byte> data(bytes), wanted(bytes);
        narrow(dtype, ones.data(), data.data(), count);
        narrow(dtype, fours.data(), wanted.data(), count);
        sum.all_reduce(dtype, data, lockstep::monotonic_seconds() + 3600);
        need(data == wanted, "the sum");
      }
      const Choice taken = sum.choice(dtype, bytes);
      need(!taken.two_levels, "what was taken has one level");
      need(taken.algorithm == (dtype == DType::f32 ? Algorithm::ring : Algorithm::direct), "the algorithm");
    });
    CHECK(told == 4);
  }
}

TEST_CASE("slices are summed by the ring where the choice is the ring") {
  for (const auto algorithm : {Algorithm::ring, Algorithm::direct}) {
    constexpr std::size_t slice = 5;
    std::vector<float> sums(3 * slice);
    as_ranks(3, nodes, [&](std::unique_ptr<Transport> transport) {
      const int rank = transport->rank();
      HostSum sum(*transport, algorithm);
      // (big + small) - big is 0 in the order of ranks; the ring begins with the rank after the slice's.
      const float term = rank == 0 ? 1e9F : rank == 1 ? 1.F : -1e9F;
      std::vector<float> all(3 * slice, term), mine(slice);
      sum.reduce_scatter(DType::f32, std::as_writable_bytes(std::span(all)),
                         std::as_writable_bytes(std::span(mine)), lockstep::monotonic_seconds() + 3600);
      std::copy(mine.begin(), mine.end(), sums.begin() + rank * static_cast<std::ptrdiff_t>(slice));
    });
    const std::vector<float> ordered(3 * slice, 0);
    CHECK((sums == ordered) == (algorithm == Algorithm::direct));
  }
}

TEST_CASE("sums of nothing touch no memory") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    widen(dtype, nullptr, nullptr, 0);
    narrow(dtype, nullptr, nullptr, 0);
    const std::vector<const std::byte*> terms(2);
    sum_in_order(dtype, terms, nullptr, 0);
    as_ranks(2, {}, [&](std::unique_ptr<Transport> transport) {
      HostSum sum(*transport, Algorithm::automatic);
      sum.all_reduce(dtype, {}, lockstep::monotonic_seconds() + 3600);
      sum.reduce_scatter(dtype, {}, {}, lockstep::monotonic_seconds() + 3600);
      collectives::all_gather(*transport, {}, {}, lockstep::monotonic_seconds() + 3600);
    });
  }
}
