#include <algorithm>
#include <catch2/catch.hpp>
#include <new>
#include <numeric>

#include "comm/agreement.h"
#include "comm/mpi_group.h"
#include "comm/rank_order.h"
#include "core/error.h"

using namespace lockstep;
using comm::MpiGroup;

// A piece of 3 elements makes every call below go through the splitting; a large one does not split.
TEST_CASE("collectives work whole and in pieces", "[comm]") {
  for (const std::int64_t piece : {3, 1 << 20}) {
    MpiGroup comm(MPI_COMM_WORLD, piece);
    const int n = comm.size();
    const int me = comm.rank();
    for (const std::size_t count : {0, 1, 3, 10}) {
      std::vector<float> floats(count, 1.0f);
      comm.all_reduce_sum(floats);
      CHECK(floats == std::vector<float>(count, static_cast<float>(n)));
      std::vector<double> doubles(count, 0.5);
      comm.all_reduce_sum(doubles);
      CHECK(doubles == std::vector<double>(count, 0.5 * n));
      std::vector<std::int64_t> low(count, me), high(count, me), sum(count, me);
      comm.all_reduce_min(low);
      comm.all_reduce_max(high);
      comm.all_reduce_sum(sum);
      CHECK(low == std::vector<std::int64_t>(count, 0));
      CHECK(high == std::vector<std::int64_t>(count, n - 1));
      CHECK(sum == std::vector<std::int64_t>(count, n * (n - 1) / 2));

      std::string text(count, static_cast<char>('a' + me));
      comm::broadcast_text(comm, text, n - 1);
      CHECK(text == std::string(count, static_cast<char>('a' + n - 1)));
    }
    CHECK(comm::gather_values(comm, me * 10)[static_cast<std::size_t>(n - 1)] == (n - 1) * 10);
    const auto texts = comm::gather_texts(comm, std::string(static_cast<std::size_t>(me), 'x'));
    for (int rank = 0; rank < n; ++rank)
      CHECK(texts[static_cast<std::size_t>(rank)].size() == std::size_t(rank));

    // Slices of rank + 1 floats, the first one empty.
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n));
    std::iota(counts.begin(), counts.end(), 0);
    std::vector<float> all(static_cast<std::size_t>(n * (n - 1) / 2), -1.0f);
    const auto mine = std::span(all).subspan(static_cast<std::size_t>(me * (me - 1) / 2), std::size_t(me));
    std::fill(mine.begin(), mine.end(), static_cast<float>(me));
    comm.all_gather_slices(all, counts);
    for (int rank = 0, i = 0; rank < n; ++rank) {
      for (int k = 0; k < rank; ++k) CHECK(all[static_cast<std::size_t>(i++)] == static_cast<float>(rank));
    }
  }
}

TEST_CASE("exchange delivers messages in order, own ones too", "[comm]") {
  MpiGroup comm(MPI_COMM_WORLD, 4);
  const auto twin = comm.duplicate();
  std::vector<std::string> out, in;
  for (int peer = 0; peer < comm.size(); ++peer) {
    out.push_back(std::string(5 + static_cast<std::size_t>(peer), static_cast<char>('A' + comm.rank())));
    in.push_back(std::string(5 + static_cast<std::size_t>(comm.rank()), '?'));
    out.push_back("second");
    in.push_back(std::string(6, '?'));
    out.emplace_back();
    in.emplace_back();
  }
  std::vector<comm::Group::Send> sends;
  std::vector<comm::Group::Receive> receives;
  for (std::size_t i = 0; i < out.size(); ++i) {
    sends.push_back({static_cast<int>(i / 3), std::as_bytes(std::span(out[i]))});
    receives.push_back({static_cast<int>(i / 3), std::as_writable_bytes(std::span(in[i]))});
  }
  twin->exchange(sends, receives);
  for (std::size_t peer = 0; peer < in.size() / 3; ++peer) {
    CHECK(in[3 * peer] ==
          std::string(5 + static_cast<std::size_t>(comm.rank()), static_cast<char>('A' + peer)));
    CHECK(in[3 * peer + 1] == "second");
  }
}

TEST_CASE("a reordered communicator numbers the ranks as it is told", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  std::vector<int> order(static_cast<std::size_t>(comm.size()));
  std::iota(order.begin(), order.end(), 0);
  do {
    const auto other = comm.reordered(order);
    CHECK(other->size() == comm.size());
    CHECK(order[static_cast<std::size_t>(other->rank())] == comm.rank());
    CHECK(comm::gather_values(*other, comm.rank()) == order);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("ranks find the order of the topology together", "[comm]") {
  MpiGroup comm(MPI_COMM_WORLD);
  // All ranks of this test are on one host, which has one place in the network.
  const auto order = comm::agree_on_order(comm, "root/s" + std::to_string(comm.rank()));
  CHECK(order.is_given_order());
  CHECK(order.groups == 1);
  CHECK(order.hosts == 1);
  // One rank that does not know is enough.
  CHECK(comm::agree_on_order(comm, comm.rank() == comm.size() - 1 ? "" : "root/s0").groups == 0);
}

TEST_CASE("one rank's failure is the same error on all", "[comm]") {
  MpiGroup comm(MPI_COMM_WORLD);
  CHECK_NOTHROW(comm::agree(comm, "do nothing", [] {}));
  for (int culprit = 0; culprit < comm.size(); ++culprit) {
    std::string text;
    try {
      comm::agree(comm, "save", [&] {
        if (comm.rank() == culprit) throw Error(ExitCode::cannot_create, "disk full");
      });
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::cannot_create);
      text = error.what();
    }
    CHECK(text ==
          "cannot save: rank " + std::to_string(culprit) + " on " + comm.host(culprit) + ": disk full");
  }
  // Nobody is left to agree with: no collective, only the culprit throws.
  const auto lost = [&] { comm::agree(comm, "save", [] { throw Error(ExitCode::peer_failed, "gone"); }); };
  CHECK_THROWS_AS(lost(), Error);
  // Nor does a rank without memory agree with anybody: it leaves, and says so by what it throws.
  const auto full = [&] { comm::agree(comm, "save", [] { throw std::bad_alloc(); }); };
  CHECK_THROWS_AS(full(), std::bad_alloc);
}
