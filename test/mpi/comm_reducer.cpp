// Run with any number of ranks: each case also splits the world, so that 1 to size() ranks are compared.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "../unit/reducer_bench.h"
#include "comm/mpi_group.h"
#include "comm/mpi_transport.h"
#include "comm/step_packet.h"
#include "core/error.h"
#include "core/philox.h"
#include "ranks.h"

using namespace lockstep;
using comm::MpiGroup;

TEST_CASE("exact reduction gives the tree's bits for every number of ranks", "[comm]") {
  for (const int lanes : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (const std::size_t size : {0, 1, 3, 1000}) {
      std::vector<std::vector<bool>> cases = {std::vector<bool>(static_cast<std::size_t>(lanes), true)};
      cases.emplace_back(static_cast<std::size_t>(lanes), false);  // nobody has samples
      for (std::uint64_t trial = 0; trial < 4; ++trial) {          // short last batches of every kind
        PhiloxStream stream(trial, Purpose::dropout, static_cast<std::uint64_t>(lanes));
        std::vector<bool>& present = cases.emplace_back(static_cast<std::size_t>(lanes));
        for (std::size_t lane = 0; lane < present.size(); ++lane) present[lane] = stream.below(3) != 0;
      }
      for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
        const auto comm = first_ranks(ranks);
        if (!comm) continue;
        // Who sits where in the fabric changes nothing.
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.rbegin(), order.rend(), 0);
        const auto backwards = comm->reordered(order);
        for (const Way way : {Way{1, true}, Way{1, false}, Way{192, true}, Way{1 << 20, false}}) {
          ReducerBench bench(comm::make_mpi_transport(way.overlap ? *comm : *backwards), exact_sum, lanes,
                             size, way.bucket);
          for (const auto& present : cases) {
            std::vector<float> wanted = reference(0, comm::tree_width(lanes), present, size);
            wanted.resize(size);
            INFO("lanes " << lanes << " ranks " << ranks << " size " << size << " bucket " << way.bucket);
            CHECK(same_bits(bench.step(present, way.overlap), wanted));
          }
        }
      }
    }
  }
}

TEST_CASE("exact reduction keeps the sign of a lone negative zero", "[comm]") {
  for (int ranks = 1; ranks <= std::min(3, world_size()); ++ranks) {
    if (auto comm = first_ranks(ranks)) {
      ReducerBench bench(comm::make_mpi_transport(*comm), exact_sum, 3, 1, 16);
      bench.begin({false, true, false}, false);
      if (bench.own().first <= 1 && 1 < bench.own().last) bench.bring(1, {-0.0f});
      const std::vector<float> sum = bench.values(bench.reducer().finish());
      CHECK(std::signbit(sum[0]));
      CHECK(sum[0] == 0.0f);
    }
  }
}

TEST_CASE("fast reduction sums what the ranks bring", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  constexpr int lanes = 9;
  // The sums are whole numbers that bf16 has.
  const std::vector<std::pair<Sum, std::size_t>> cases = {{fast_sum, 0},    {fast_sum, 1},
                                                          {fast_sum, 1000}, {rounded_sum, 0},
                                                          {rounded_sum, 1}, {rounded_sum, 1000}};
  for (const auto& [sum, size] : cases) {
    for (const Way way : {Way{1, true}, Way{1, false}, Way{192, true}, Way{1 << 20, false}}) {
      ReducerBench bench(comm::make_mpi_transport(comm), sum, lanes, size, way.bucket);
      for (const bool last : {true, false}) {
        std::vector<bool> present(lanes, true);
        present[8] = present[7] = present[6] = last;  // else some rank of 3 or more has no samples
        bench.begin(present, way.overlap);
        float wanted = 0;
        for (int lane = 0; lane < lanes; ++lane) {
          if (!present[static_cast<std::size_t>(lane)]) continue;
          const auto mine = static_cast<float>(lane + 1);
          wanted += mine;
          const bool own = bench.own().first <= lane && lane < bench.own().last;
          if (own) bench.bring(lane, std::vector<float>(size, mine));
        }
        CHECK(bench.values(bench.reducer().finish()) == std::vector<float>(size, wanted));
      }
    }
  }
}

TEST_CASE("a reducer refuses what it cannot do", "[comm]") {
  const MpiGroup comm(MPI_COMM_WORLD);
  if (comm.size() > 1) {
    CHECK_THROWS_AS(ReducerBench(comm::make_mpi_transport(comm), exact_sum, comm.size() - 1, 3, 16), Error);
  }
  ReducerBench bench(comm::make_mpi_transport(comm), exact_sum, 64, 3, 16);
  std::vector<bool> present(64, true);
  const int first = bench.own().first;
  present[static_cast<std::size_t>(first + 1)] = false;
  bench.begin(present, false);
  CHECK_THROWS_AS(bench.reducer().finish(), Error);  // before any communication
  bench.bring(first, {1, 2, 3});
  CHECK_THROWS_AS(bench.reducer().begin_lane(first), Error);
  CHECK_THROWS_AS(bench.reducer().begin_lane(first + 1), Error);
  CHECK_THROWS_AS(bench.reducer().begin_lane(bench.own().last), Error);
}

TEST_CASE("a step packet gives the same sums for every number of ranks", "[comm]") {
  enum Quantity : std::size_t { loss, samples, quantities };
  enum Flag : std::size_t { stop, non_finite, flags };
  for (const int lanes : {1, 3, 8, 13}) {
    std::vector<double> losses;
    PhiloxStream stream(3, Purpose::init, 0);
    for (int lane = 0; lane < lanes; ++lane) losses.push_back(std::ldexp(stream.next(), -lane));
    losses[0] = -0.0;
    for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
      if (auto comm = first_ranks(ranks)) {
        comm::StepPacket packet(lanes, quantities, flags, 2);
        for (int step = 0; step < 2; ++step) {
          packet.clear();
          const auto own = comm::lanes_of(comm->rank(), comm->size(), lanes);
          for (int lane = own.first; lane < own.last; ++lane) {
            packet.set(loss, lane, losses[static_cast<std::size_t>(lane)]);
            packet.set(samples, lane, lane);
            packet.attached(lane)[1] = static_cast<float>(lane);
          }
          if (step == 1 && comm->rank() == ranks - 1) packet.raise(stop);
          packet.gather(*comm);
          const double sum = packet.sum(loss);
          const double wanted = comm::tree_sum(losses);
          CHECK(std::memcmp(&sum, &wanted, sizeof sum) == 0);
          CHECK(packet.sum(samples) == lanes * (lanes - 1) / 2);
          CHECK(packet.raised(stop) == step);
          CHECK(packet.raised(non_finite) == 0);
          CHECK(packet.value(samples, lanes - 1) == lanes - 1);
          for (int lane = 0; lane < lanes; ++lane) {
            CHECK(packet.attached(lane)[1] == static_cast<float>(lane));
          }
        }
      }
    }
  }
}
