// Run with any number of ranks: each case also splits the world, so that 1 to size() ranks are compared.
#include "comm/reducer.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "comm/mpi_group.h"
#include "comm/step_packet.h"
#include "core/error.h"
#include "core/philox.h"
#include "ranks.h"

using namespace lockstep;
using comm::MpiGroup;

namespace {

// Values of widely different size, so that every change of order changes some sum.
std::vector<float> lane_gradient(int lane, std::size_t size) {
  PhiloxStream stream(7, Purpose::init, static_cast<std::uint64_t>(lane));
  std::vector<float> values(size);
  for (float& value : values) {
    const float sign = stream.next() % 2 == 0 ? 1.0f : -1.0f;
    value = sign * std::ldexp(to_unit_float(stream.next()), static_cast<int>(stream.below(20)));
  }
  return values;
}

// The definition, recursively: what the reducer must reproduce bit for bit.
std::vector<float> reference(int first, int width, const std::vector<bool>& present, std::size_t size) {
  if (width == 1) {
    const auto lane = static_cast<std::size_t>(first);
    return lane < present.size() && present[lane] ? lane_gradient(first, size) : std::vector<float>();
  }
  std::vector<float> left = reference(first, width / 2, present, size);
  const std::vector<float> right = reference(first + width / 2, width / 2, present, size);
  if (left.empty()) return right;
  for (std::size_t i = 0; i < right.size(); ++i) left[i] += right[i];
  return left;
}

std::vector<float> reduced(MpiGroup& comm, const std::vector<bool>& present, std::size_t size, int steps) {
  const int lanes = static_cast<int>(present.size());
  const auto reducer = comm::make_reducer(comm::ReduceMode::exact, comm, lanes);
  const LaneRange own = comm::lanes_of(comm.rank(), comm.size(), lanes);
  std::vector<float> gradient(size);
  // Two uneven groups.
  const std::span<float> flat(gradient);
  const std::vector<std::span<float>> groups = {flat.first(size / 3), flat.subspan(size / 3)};
  for (int step = 0; step < steps; ++step) {
    reducer->begin_step();
    for (int lane = own.first; lane < own.last; ++lane) {
      if (!present[static_cast<std::size_t>(lane)]) continue;
      const auto values = lane_gradient(lane, size);
      std::copy(values.begin(), values.end(), gradient.begin());
      reducer->add(lane, groups);
    }
    reducer->finish(groups);
  }
  return gradient;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("exact reduction gives the tree's bits for every number of ranks", "[comm]") {
  for (const int lanes : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (const std::size_t size : {0, 1, 3, 1000}) {
      std::vector<std::vector<bool>> cases = {std::vector<bool>(static_cast<std::size_t>(lanes), true)};
      cases.emplace_back(static_cast<std::size_t>(lanes), false);  // nobody has samples
      for (std::uint64_t trial = 0; trial < 6; ++trial) {          // short last batches of every kind
        PhiloxStream stream(trial, Purpose::dropout, static_cast<std::uint64_t>(lanes));
        std::vector<bool>& present = cases.emplace_back(static_cast<std::size_t>(lanes));
        for (std::size_t lane = 0; lane < present.size(); ++lane) present[lane] = stream.below(3) != 0;
      }
      for (const auto& present : cases) {
        std::vector<float> wanted = reference(0, comm::tree_width(lanes), present, size);
        wanted.resize(size);
        for (int ranks = 1; ranks <= std::min(lanes, world_size()); ++ranks) {
          if (auto comm = first_ranks(ranks)) {
            INFO("lanes " << lanes << " ranks " << ranks << " size " << size);
            CHECK(same_bits(reduced(*comm, present, size, 2), wanted));
            // Who sits where in the fabric changes nothing.
            std::vector<int> backwards(static_cast<std::size_t>(ranks));
            std::iota(backwards.rbegin(), backwards.rend(), 0);
            CHECK(same_bits(reduced(*comm->reordered(backwards), present, size, 2), wanted));
          }
        }
      }
    }
  }
}

TEST_CASE("the order of addition matters for these values", "[comm]") {
  // Else the test above would prove nothing.
  std::vector<float> naive = lane_gradient(0, 1000);
  for (int lane = 1; lane < 8; ++lane) {
    const auto next = lane_gradient(lane, 1000);
    for (std::size_t i = 0; i < naive.size(); ++i) naive[i] += next[i];
  }
  CHECK_FALSE(same_bits(naive, reference(0, 8, std::vector<bool>(8, true), 1000)));
}

TEST_CASE("exact reduction keeps the sign of a lone negative zero", "[comm]") {
  for (int ranks = 1; ranks <= std::min(3, world_size()); ++ranks) {
    if (auto comm = first_ranks(ranks)) {
      const auto reducer = comm::make_reducer(comm::ReduceMode::exact, *comm, 3);
      std::vector<float> gradient = {-0.0f};
      const std::vector<std::span<float>> groups = {gradient};
      const auto own = comm::lanes_of(comm->rank(), comm->size(), 3);
      reducer->begin_step();
      if (own.first <= 1 && 1 < own.last) reducer->add(1, groups);
      gradient[0] = 5.0f;
      reducer->finish(groups);
      CHECK(std::signbit(gradient[0]));
      CHECK(gradient[0] == 0.0f);
    }
  }
}

TEST_CASE("fast reduction sums what the ranks bring", "[comm]") {
  MpiGroup comm(MPI_COMM_WORLD);
  const auto reducer = comm::make_reducer(comm::ReduceMode::fast, comm, 64);
  CHECK_FALSE(reducer->wants_each_lane());
  std::vector<float> a(5, static_cast<float>(comm.rank() + 1));
  std::vector<float> b;
  const std::vector<std::span<float>> groups = {a, b};
  reducer->begin_step();
  reducer->finish(groups);
  const int n = comm.size();
  CHECK(a == std::vector<float>(5, static_cast<float>(n * (n + 1) / 2)));
}

TEST_CASE("a reducer refuses what it cannot do", "[comm]") {
  MpiGroup comm(MPI_COMM_WORLD);
  if (comm.size() > 1) {
    CHECK_THROWS_AS(comm::make_reducer(comm::ReduceMode::exact, comm, comm.size() - 1), Error);
  }
  const auto reducer = comm::make_reducer(comm::ReduceMode::exact, comm, 64);
  reducer->begin_step();
  std::vector<float> gradient(3);
  const std::vector<std::span<float>> groups = {gradient};
  const auto own = comm::lanes_of(comm.rank(), comm.size(), 64);
  reducer->add(own.first, groups);
  CHECK_THROWS_AS(reducer->add(own.first, groups), Error);
  CHECK_THROWS_AS(reducer->add(own.last, groups), Error);
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
        comm::StepPacket packet(lanes, quantities, flags);
        for (int step = 0; step < 2; ++step) {
          packet.clear();
          const auto own = comm::lanes_of(comm->rank(), comm->size(), lanes);
          for (int lane = own.first; lane < own.last; ++lane) {
            packet.set(loss, lane, losses[static_cast<std::size_t>(lane)]);
            packet.set(samples, lane, lane);
          }
          if (step == 1 && comm->rank() == ranks - 1) packet.raise(stop);
          packet.reduce(*comm);
          const double sum = packet.sum(loss);
          const double wanted = comm::tree_sum(losses) + 0.0;
          CHECK(std::memcmp(&sum, &wanted, sizeof sum) == 0);
          CHECK(packet.sum(samples) == lanes * (lanes - 1) / 2);
          CHECK(packet.raised(stop) == step);
          CHECK(packet.raised(non_finite) == 0);
          CHECK(packet.value(samples, lanes - 1) == lanes - 1);
        }
      }
    }
  }
}
